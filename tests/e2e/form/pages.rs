//! Pages: the full address is shown, and only the user's key opens it.

use super::*;

/// Returns the steps that ask the user to open a page and await `answer`.
fn page(url: &str, answer: &Json) -> String {
    let ask = json!({ "request": "elicitation/create", "as": "q", "params": {
        "sessionId": "${sid}", "mode": "url", "message": "Log in to go on.",
        "url": url, "elicitationId": "e1",
    }});
    format!("{ask}\n{{\"await\":\"q\",\"result\":{answer}}}")
}

/// Replaces `vim.ui.open` by a function that records the address.
fn watch(nvim: &Nvim, problem: Option<&str>) {
    nvim.lua(
        "local problem = ...
        if problem == vim.NIL then problem = nil end
        _G.opened = {}
        vim.ui.open = function(url)
          table.insert(_G.opened, url)
          return not problem and {} or nil, problem
        end",
        (problem,),
    );
}

#[track_caller]
fn opened(nvim: &Nvim) -> Json {
    nvim.lua("return #_G.opened > 0 and _G.opened or 'nothing'", ())
}

#[test]
fn a_page_is_opened_by_the_users_key_and_its_end_is_reported() {
    let url = "https://example.org/login?state=0123456789";
    let steps = page(url, &json!({ "action": "accept" }));
    let nvim = start(&format!(
        "{steps}\n{{\"wait_file\":\"${{cwd}}/../done\"}}\n\
         {{\"notify\":\"elicitation/complete\",\"params\":{{\"elicitationId\":\"e1\"}}}}"
    ));
    watch(&nvim, None);
    ask(&nvim);
    go(&nvim);
    insta::assert_snapshot!(on_screen(&nvim));
    assert_eq!(nvim.screen().groups_of("It leads to example.org").len(), 2);
    assert_eq!(opened(&nvim), "nothing");
    nvim.keys("o");
    wait_closed(&nvim);
    assert_eq!(opened(&nvim), json!([url]));
    wait_said(&nvim, &format!("Opened: {url}"));
    std::fs::write(nvim.project.root().join("done"), "").unwrap();
    wait_said(&nvim, "example.org is done, the agent says.");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn only_web_pages_can_be_opened() {
    let nvim = start(&page("file:///etc/passwd", &json!({ "action": "decline" })));
    watch(&nvim, None);
    ask(&nvim);
    go(&nvim);
    nvim.wait_text("This is not a web address");
    nvim.keys("oD");
    wait_answered(&nvim);
    assert_eq!(opened(&nvim), "nothing");
    nvim.quit();
}

#[test]
fn a_page_that_fails_to_open_stays_pending() {
    let url = "https://example.org/";
    let nvim = start(&page(url, &json!({ "action": "cancel" })));
    watch(&nvim, Some("no browser"));
    ask(&nvim);
    go(&nvim);
    nvim.keys("o");
    nvim.wait("the message", || {
        nvim.messages()
            .contains("The page could not be opened (no browser)")
    });
    assert!(is_open(&nvim));
    nvim.keys("y");
    nvim.wait("the address", || {
        nvim.lua("return vim.fn.getreg('\"')", ()) == json!(url)
    });
    nvim.keys("X");
    wait_answered(&nvim);
    nvim.quit();
}
