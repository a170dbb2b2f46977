//! Tools' arguments and results: JSON returns from Lua as it was, reading any Lua value ends, and
//! a value that was read returns from Lua as well.

#![no_main]

use any::{Any, map};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use mlua::Value;
use serde_json::{Map, Value as Json, json};

use crate::editor::nvim::lua;
use crate::json::{Empty, object_to_lua, to_json, to_lua};

// The module under test finds its imports of Neovim here.
extern crate self as nvim_oxi;
pub use mlua;

mod any;
#[path = "../../src/editor/tools/json.rs"]
mod json;

mod editor {
    pub mod nvim {
        use mlua::{Error, IntoLua, Lua, Table, Value};

        thread_local! {
            static LUA: Lua = with_vim();
        }

        /// Returns a state with what Neovim's own files define of the table `vim`.
        fn with_vim() -> Lua {
            let lua = Lua::new();
            let vim = lua.create_table().unwrap();
            vim.set("NIL", Value::NULL).unwrap();
            lua.globals().set("vim", vim).unwrap();
            let code = "vim._empty_dict_mt = {}
                function vim.empty_dict() return setmetatable({}, vim._empty_dict_mt) end";
            lua.load(code).exec().unwrap();
            lua
        }

        pub fn lua() -> Lua {
            LUA.with(Lua::clone)
        }

        pub fn vim() -> mlua::Result<Table> {
            lua().globals().get("vim")
        }

        pub fn value(any: impl IntoLua) -> Value {
            any.into_lua(&lua()).unwrap_or(Value::Nil)
        }

        pub fn message(error: &Error) -> String {
            error.to_string()
        }
    }
}

const WORDS: [&str; 16] = [
    "required",
    "enum",
    "allOf",
    "type",
    "properties",
    "patternProperties",
    "$defs",
    "items",
    "string",
    "object",
    "1",
    "2",
    "-1",
    "1.5",
    "",
    "x",
];

#[derive(Debug, Arbitrary)]
enum Made {
    Nil,
    Null,
    Flag(bool),
    Number(f64),
    Whole(i32),
    Text(Vec<u8>),
    Function,
    EmptyDict,
    Table(Vec<(Made, Made)>),
    List(Vec<Made>),
    /// A table around it.
    Outer(u8),
}

impl Made {
    /// Makes the value; `outer` are the tables it is in.
    fn lua(&self, outer: &mut Vec<Value>) -> mlua::Result<Value> {
        let lua = lua();
        let (table, fields) = match self {
            Made::Nil => return Ok(Value::Nil),
            Made::Null => return Ok(Value::NULL),
            Made::Flag(flag) => return Ok(Value::Boolean(*flag)),
            Made::Number(number) => return Ok(Value::Number(*number)),
            Made::Whole(number) => return Ok(Value::Integer((*number).into())),
            Made::Text(bytes) => return lua.create_string(bytes).map(Value::String),
            Made::Function => return lua.globals().get("print"),
            Made::EmptyDict => return object_to_lua(&Map::new()).map(Value::Table),
            Made::Outer(number) if outer.is_empty() => return Ok(Value::Integer((*number).into())),
            Made::Outer(number) => return Ok(outer[usize::from(*number) % outer.len()].clone()),
            Made::Table(fields) => (lua.create_table()?, fields),
            Made::List(items) => {
                let list = lua.create_table()?;
                outer.push(Value::Table(list.clone()));
                for (index, item) in items.iter().enumerate() {
                    list.raw_set(index + 1, item.lua(outer)?)?;
                }
                outer.pop();
                return Ok(Value::Table(list));
            }
        };
        outer.push(Value::Table(table.clone()));
        for (key, value) in fields {
            let (key, value) = (key.lua(outer)?, value.lua(outer)?);
            let is_key = match &key {
                Value::Number(number) => !number.is_nan(),
                key => !key.is_nil(),
            };
            if is_key {
                table.raw_set(key, value)?;
            }
        }
        outer.pop();
        Ok(Value::Table(table))
    }
}

/// Returns JSON as it comes out of Lua, whose numbers are floats and whose tables hold no nil.
fn held(json: &Json) -> Json {
    match json {
        Json::Number(number) => {
            const WHOLE: std::ops::Range<f64> = i64::MIN as f64..i64::MAX as f64;
            let float = number.as_f64().unwrap();
            // mlua takes the tiniest ones for 0.
            let is_whole = (float - float.trunc()).abs() < f64::EPSILON && WHOLE.contains(&float);
            if is_whole {
                json!(float as i64)
            } else {
                json!(float)
            }
        }
        Json::Array(items) => items.iter().map(held).collect(),
        Json::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            Json::Object(
                there
                    .map(|(name, value)| (name.clone(), held(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

/// Checks the JSON that was read from a value made of this JSON.
#[track_caller]
fn check(read: Result<Json, String>, json: &Json) {
    match read {
        Ok(read) => assert_eq!(read, held(json)),
        Err(why) => assert!(why.contains("deeper than"), "{why}"),
    }
}

#[derive(Debug, Arbitrary)]
struct Input {
    fields: Vec<(u8, Any)>,
    made: Vec<Made>,
    is_schema: bool,
}

fuzz_target!(|input: Input| {
    let fields = map(&WORDS, &input.fields);
    let table = Value::Table(object_to_lua(&fields).unwrap());
    check(to_json(table, Empty::List), &Json::Object(fields));

    let empty = if input.is_schema {
        Empty::Schema
    } else {
        Empty::List
    };
    let made = Made::List(input.made).lua(&mut Vec::new()).unwrap();
    if let Ok(read) = to_json(made, empty) {
        check(to_json(to_lua(&read).unwrap(), Empty::List), &read);
    }
    // Otherwise libFuzzer takes the garbage for a leak and searches for it each time.
    lua().gc_collect().unwrap();
});
