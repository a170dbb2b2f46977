//! Converts between JSON and Lua values, for the handlers of tools.
//!
//! Invariant: reading any value ends, and an error names the position of the invalid value.

use nvim_oxi::mlua::{self, Table, Value};
use serde_json::{Map, Number, Value as Json};

use crate::editor::nvim;

/// The deepest nesting of a value: a deeper one probably contains itself.
const DEPTH: usize = 100;

/// Maximum size of a value, in bytes of text plus a constant per value: agents read no larger ones.
const BYTES: usize = 16 << 20;

/// The meaning of an empty table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// In data: a list, unless it is `vim.empty_dict()`.
    List,
    /// In a schema: an object, except where JSON Schema requires a list.
    Schema,
}

/// The keywords of JSON Schema whose value is a list.
const LISTS: [&str; 8] = [
    "required",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "examples",
    "type",
];

/// Converts a value to Lua: an empty object becomes `vim.empty_dict()`; a null field is left out, a
/// null in a list becomes `vim.NIL`.
pub fn to_lua(json: &Json) -> mlua::Result<Value> {
    let lua = nvim::lua();
    Ok(match json {
        Json::Null => nvim::vim()?.get("NIL")?,
        Json::Bool(bool) => Value::Boolean(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => nvim::value(integer),
            None => Value::Number(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(items) => {
            let list = lua.create_table_with_capacity(items.len(), 0)?;
            for item in items {
                list.raw_push(to_lua(item)?)?;
            }
            Value::Table(list)
        }
        Json::Object(fields) => Value::Table(object_to_lua(fields)?),
    })
}

/// Converts an object to Lua, as [`to_lua`] does.
pub fn object_to_lua(fields: &Map<String, Json>) -> mlua::Result<Table> {
    if fields.values().all(Json::is_null) {
        return nvim::vim()?.get::<mlua::Function>("empty_dict")?.call(());
    }
    let table = nvim::lua().create_table_with_capacity(0, fields.len())?;
    for (name, value) in fields {
        if !value.is_null() {
            table.raw_set(name.as_str(), to_lua(value)?)?;
        }
    }
    Ok(table)
}

/// Reads a Lua value; invalid UTF-8 becomes replacement characters.
///
/// # Errors
/// A sentence that names the invalid value and its position.
pub fn to_json(value: Value, empty: Empty) -> Result<Json, String> {
    let vim = nvim::vim().map_err(|error| nvim::message(&error))?;
    let mut reader = Reader {
        null: vim.get("NIL").unwrap_or(Value::Nil),
        dict: vim.get::<Table>("_empty_dict_mt").ok(),
        empty,
        left: BYTES,
        path: Vec::new(),
    };
    reader.read(value, Role::Value)
}

/// The role of a value in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Value,
    /// The value of a keyword that takes a list.
    List,
    /// Has names that the author chose: `properties` and the like.
    Names,
}

/// A key of a table, outside of Lua: mlua panics when some thousands of Lua's values are held.
enum Key {
    Text(Vec<u8>),
    Integer(i64),
    Number(f64),
}

impl Key {
    fn name(&self) -> String {
        match self {
            Key::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Key::Integer(integer) => integer.to_string(),
            Key::Number(number) => number.to_string(),
        }
    }

    fn value_in(&self, table: &Table) -> mlua::Result<Value> {
        match self {
            Key::Text(bytes) => table.raw_get(nvim::lua().create_string(bytes)?),
            Key::Integer(integer) => table.raw_get(*integer),
            Key::Number(number) => table.raw_get(*number),
        }
    }
}

struct Reader {
    null: Value,
    /// The metatable of `vim.empty_dict()`.
    dict: Option<Table>,
    empty: Empty,
    left: usize,
    /// The path to the value that is being read.
    path: Vec<String>,
}

impl Reader {
    fn read(&mut self, value: Value, role: Role) -> Result<Json, String> {
        self.pay(32)?;
        if value == self.null {
            return Ok(Json::Null);
        }
        match value {
            Value::Nil => Ok(Json::Null),
            Value::Boolean(bool) => Ok(Json::Bool(bool)),
            Value::Integer(integer) => Ok(Json::Number(integer.into())),
            Value::Number(number) => self.number(number),
            Value::String(text) => Ok(Json::String(self.text(&text)?)),
            Value::Table(table) => {
                if self.path.len() >= DEPTH {
                    return Err(format!(
                        "it is deeper than {DEPTH} tables, and may contain itself"
                    ));
                }
                self.table(&table, role)
            }
            other => self.wrong(&format!("a {} is not plain data", other.type_name())),
        }
    }

    fn number(&self, number: f64) -> Result<Json, String> {
        // Floats cannot represent larger integers exactly.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() < EXACT {
            // It is whole and in range.
            #[allow(clippy::cast_possible_truncation)]
            return Ok(Json::Number((number as i64).into()));
        }
        match Number::from_f64(number) {
            Some(number) => Ok(Json::Number(number)),
            None => self.wrong("the number is infinite or not a number"),
        }
    }

    fn text(&mut self, text: &mlua::String) -> Result<String, String> {
        let bytes = text.as_bytes();
        self.pay(bytes.len())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn table(&mut self, table: &Table, role: Role) -> Result<Json, String> {
        let length = table.raw_len();
        let mut keys: Vec<Key> = Vec::new();
        let mut is_list = true;
        let mut take = |key: &Value| -> Result<(), String> {
            self.pay(8)?;
            is_list &= index_of(key).is_some_and(|index| index <= length);
            keys.push(self.key(key)?);
            Ok(())
        };
        // `pairs` passes each key back to Lua, where a float that mlua has rounded is no key, and
        // that error is caught by nothing.
        let mut wrong = Ok(());
        let all = table.for_each(|key: Value, _: Value| {
            if wrong.is_ok() {
                wrong = take(&key);
            }
            Ok(())
        });
        all.map_err(|error| nvim::message(&error))?;
        wrong?;
        if keys.is_empty() {
            return Ok(self.empty(table, role));
        }
        if is_list && keys.len() == length {
            return self.list(table, length);
        }
        // Sorted, so that the same table always gives the same text.
        let mut named: Vec<(String, Key)> = keys.into_iter().map(|key| (key.name(), key)).collect();
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut object = Map::with_capacity(named.len());
        for (name, key) in named {
            let value = key.value_in(table).map_err(|error| nvim::message(&error))?;
            let inside = self.inside(role, &name);
            self.path.push(name);
            let value = self.read(value, inside)?;
            let name = self.path.pop().unwrap_or_default();
            object.insert(name, value);
        }
        Ok(Json::Object(object))
    }

    fn list(&mut self, table: &Table, length: usize) -> Result<Json, String> {
        let mut items = Vec::with_capacity(length);
        for index in 1..=length {
            let item: Value = table
                .raw_get(index)
                .map_err(|error| nvim::message(&error))?;
            self.path.push(index.to_string());
            items.push(self.read(item, Role::Value)?);
            self.path.pop();
        }
        Ok(Json::Array(items))
    }

    fn empty(&self, table: &Table, role: Role) -> Json {
        let is_dict = self.dict.is_some() && table.metatable() == self.dict;
        let is_object = match self.empty {
            Empty::List => is_dict,
            Empty::Schema => is_dict || role != Role::List,
        };
        if is_object {
            Json::Object(Map::new())
        } else {
            Json::Array(Vec::new())
        }
    }

    fn inside(&self, role: Role, name: &str) -> Role {
        let is_names = ["properties", "patternProperties", "$defs", "definitions"].contains(&name);
        match role {
            Role::Names => Role::Value,
            _ if is_names => Role::Names,
            _ if LISTS.contains(&name) => Role::List,
            _ => Role::Value,
        }
    }

    fn key(&mut self, key: &Value) -> Result<Key, String> {
        match key {
            Value::String(text) => {
                let bytes = text.as_bytes();
                self.pay(bytes.len())?;
                Ok(Key::Text(bytes.to_vec()))
            }
            Value::Integer(integer) => Ok(Key::Integer(*integer)),
            Value::Number(number) => Ok(Key::Number(*number)),
            other => self.wrong(&format!("a {} cannot name a field", other.type_name())),
        }
    }

    fn pay(&mut self, bytes: usize) -> Result<(), String> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(format!("it is larger than {} MiB", BYTES >> 20)),
        }
    }

    fn wrong<T>(&self, what: &str) -> Result<T, String> {
        if self.path.is_empty() {
            return Err(what.to_owned());
        }
        Err(format!("{what} (at `{}`)", self.path.join(".")))
    }
}

/// Returns a key as an index of a list.
fn index_of(key: &Value) -> Option<usize> {
    match key {
        Value::Integer(integer) => usize::try_from(*integer).ok().filter(|index| *index > 0),
        _ => None,
    }
}
