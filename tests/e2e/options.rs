//! Modes and other options: chosen in the chat, by command and by list, and changed by the agent.

use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::harness::Nvim;
use super::talk;

/// Returns the line of a script that gives sessions these options.
fn offered() -> String {
    let modes = json!({ "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "Ask" },
        { "id": "plan", "name": "Plan", "description": "Reads, and writes nothing." },
        { "id": "yolo", "name": "YOLO" },
    ] });
    let config = json!([
        { "id": "model", "name": "Model", "category": "model", "type": "select",
          "currentValue": "big", "options": [
            { "group": "g", "name": "Fast", "options": [{ "value": "small", "name": "Small One" }] },
            { "group": "h", "name": "Slow", "options": [{ "value": "big", "name": "Big One" }] },
        ] },
        { "id": "web", "name": "Web", "type": "boolean", "currentValue": false },
    ]);
    json!({ "defaults": { "session/new": { "modes": modes, "configOptions": config } } })
        .to_string()
}

#[track_caller]
fn start(script: &[Json]) -> Nvim {
    let mut lines = vec![offered()];
    lines.extend(script.iter().map(Json::to_string));
    let project = super::harness::Project::new().size(150, 24);
    let nvim = project.agent("scripted", &lines.join("\n")).start();
    talk::open(&nvim);
    nvim
}

/// Waits until the chat's window bar shows this text after the agent's name.
#[track_caller]
fn wait_bar(nvim: &Nvim, text: &str) {
    let bar = || {
        nvim.lua(
            "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
              if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-chat' then
                return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win }).str
              end
            end",
            (),
        )
    };
    let want = format!(" scripted · {text}");
    nvim.wait(&format!("the bar {want:?}"), || bar() == want.as_str());
}

#[test]
fn a_mode_is_chosen_by_key_by_name_and_from_a_list() {
    let set = |mode: &str| json!({ "expect": "session/set_mode", "params": { "modeId": mode }, "as": mode });
    let nvim = start(&[
        set("plan"),
        json!({ "reply": "plan", "result": {} }),
        set("yolo"),
        json!({ "reply": "yolo", "result": {} }),
        set("ask"),
        json!({ "reply": "ask", "result": {} }),
    ]);
    wait_bar(&nvim, "idle · Ask · Big One");
    nvim.keys("<S-Tab>");
    wait_bar(&nvim, "idle · Plan · Big One");
    talk::wait_said(&nvim, "The mode is now \"Plan\".");
    assert_eq!(talk::status(&nvim)["mode"], "plan");
    nvim.keys("<Esc>:Acp mode yo<Tab><CR>");
    talk::wait_said(&nvim, "The mode is now \"YOLO\".");
    nvim.keys("i<S-Tab>");
    wait_bar(&nvim, "idle · Ask · Big One");
    assert_eq!(nvim.mode(), "i");
    talk::wait_said(&nvim, "The mode is now \"Ask\".");
    nvim.keys("<Esc>:Acp mode<CR>");
    nvim.wait_text("2:   Plan — Reads, and writes nothing.");
    nvim.wait_text("1: ● Ask");
    nvim.keys("q<CR>");
    let changed = talk::count(&nvim, "AcpOptionsChanged");
    // The first event announces the options.
    assert_eq!(changed, 4);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn configured_values_are_set_before_the_first_prompt() {
    let script = [
        offered(),
        json!({ "expect": "session/set_config_option", "params": { "configId": "model", "value": "small" },
                "as": "model" })
        .to_string(),
        json!({ "reply": "model", "result": {} }).to_string(),
        json!({ "expect": "session/set_mode", "params": { "modeId": "plan" }, "as": "mode" })
            .to_string(),
        json!({ "reply": "mode", "result": {} }).to_string(),
        json!({ "expect": "session/prompt", "as": "p" }).to_string(),
        json!({ "say": "Yes." }).to_string(),
        json!({ "end": "p" }).to_string(),
    ];
    let project = super::harness::Project::new().size(150, 24);
    let project = project.agent("scripted", &script.join("\n"));
    let options = json!({ "web": false, "effort": "high" });
    let nvim = project
        .agent_key("scripted", "mode", json!("Plan"))
        .agent_key("scripted", "model", json!("Small One"))
        .agent_key("scripted", "options", options)
        .start();
    talk::open(&nvim);
    talk::talk(&nvim, "hi");
    wait_bar(&nvim, "idle · Plan · Small One");
    talk::wait_said(
        &nvim,
        "`agents.scripted.options.effort` in the configuration: The agent has no option \"effort\"; \
         it has mode, model, web.",
    );
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_value_chosen_to_be_remembered_is_set_in_the_next_neovim() {
    let set = r#"{"expect":"session/set_mode","params":{"modeId":"plan"},"as":"m"}
{"reply":"m","result":{}}
{"expect_eof":true}"#;
    let script = [&*offered(), r#"{"life":1}"#, set, r#"{"life":2}"#, set].join("\n");
    let project = super::harness::Project::new().size(150, 24);
    let nvim = project.agent("scripted", &script).start();
    talk::open(&nvim);
    nvim.cmd("Acp mode plan");
    wait_bar(&nvim, "idle · Plan · Big One");
    nvim.lua(
        "vim.ui.select = function(items, _, choose) choose(items[#items]) end",
        (),
    );
    nvim.cmd("Acp mode");
    let text = "Remembered for new sessions of scripted: mode \"Plan\".";
    nvim.wait(text, || nvim.messages().contains(text));
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = Nvim::start(project);
    talk::open(&nvim);
    wait_bar(&nvim, "idle · Plan · Big One");
    nvim.quit();
}

#[test]
fn an_option_is_set_and_reset_if_it_is_refused() {
    let set = |id: &str, value: Json, name: &str| {
        let params = json!({ "configId": id, "value": value });
        json!({ "expect": "session/set_config_option", "params": params, "as": name })
    };
    let nvim = start(&[
        set("web", json!(true), "on"),
        json!({ "reply": "on", "result": {} }),
        set("model", json!("small"), "small"),
        json!({ "wait_file": "${script_dir}/go" }),
        json!({ "reply": "small", "error": { "code": -32000, "message": "Not paid for" } }),
    ]);
    nvim.cmd("Acp config web on");
    let options = || nvim.lua("return require('acp').config()", ());
    nvim.wait("the option", || options()[2]["value"] == true);
    nvim.keys("<Esc>:Acp config model<CR>");
    nvim.wait_text("1:   Small One (Fast)");
    nvim.keys("1<CR>");
    wait_bar(&nvim, "idle · Ask · Small One");
    let file = nvim.project.root().join("agents/go");
    std::fs::write(file, "").expect("the file can be written");
    wait_bar(&nvim, "idle · Ask · Big One");
    let why = "did not change the model, which stays \"Big One\": Not paid for (-32000).";
    nvim.wait("the message", || nvim.messages().contains(why));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_agents_changes_are_on_the_screen() {
    let nvim = start(&[
        json!({ "expect": "session/prompt", "as": "p" }),
        json!({ "say": "I have a plan." }),
        json!({ "update": { "sessionUpdate": "current_mode_update", "currentModeId": "yolo" } }),
        json!({ "update": { "sessionUpdate": "usage_update", "used": 170_000, "size": 200_000,
                            "cost": { "amount": 1.5, "currency": "USD" } } }),
        json!({ "update": { "sessionUpdate": "available_commands_update", "availableCommands": [
            { "name": "compact", "description": "Compacts", "input": { "hint": "what to keep" } },
        ] } }),
        json!({ "end": "p" }),
    ]);
    talk::talk(&nvim, "go");
    wait_bar(&nvim, "idle · YOLO · 170k/200k 85% · 1.50 USD · Big One");
    let lines = talk::transcript(&nvim);
    assert_eq!(
        lines[2..],
        [
            "I have a plan.",
            "",
            "The agent has changed the mode to \"YOLO\"."
        ]
    );
    let usage = json!({ "used": 170_000, "size": 200_000, "percent": 85, "cost": "1.50 USD" });
    assert_eq!(talk::status(&nvim)["usage"], usage);
    let commands = nvim.lua("return require('acp').commands()", ());
    let command = json!({ "name": "compact", "description": "Compacts", "hint": "what to keep" });
    assert_eq!(commands, json!([command]));
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn options_set_while_the_agent_starts_apply_to_the_first_prompt() {
    let script = [
        offered(),
        json!({ "expect": "session/set_mode", "params": { "modeId": "plan" }, "as": "m" })
            .to_string(),
        json!({ "reply": "m", "result": {} }).to_string(),
        json!({ "expect": "session/prompt", "as": "p" }).to_string(),
        json!({ "say": "Planned." }).to_string(),
        json!({ "end": "p" }).to_string(),
    ];
    let project = super::harness::Project::new().agent("scripted", &script.join("\n"));
    let nvim = project.start();
    nvim.cmd("AcpChat | call v:lua.require('acp').set_mode('plan')");
    talk::talk(&nvim, "go");
    nvim.wait_script("scripted");
    assert_eq!(talk::status(&nvim)["mode"], "plan");
    nvim.quit();
}
