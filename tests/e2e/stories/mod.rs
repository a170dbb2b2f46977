//! Whole stories from the user's view, for every way an agent's changes arrive.

mod commits;
mod doors;
mod formats;
mod outlive;
mod shell;

use std::process::Command;

use crate::harness::{Nvim, Project};

/// Runs git as the user does, in the project's folder.
#[track_caller]
fn git(project: &Project, args: &[&str]) -> String {
    let root = project.root();
    let output = Command::new("git")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=User", "-c", "user.email=user@example.org"])
        .args(["-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(root.join("project"))
        .output()
        .expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes the project a repository with all its files committed.
#[track_caller]
fn committed(project: Project) -> Project {
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message", "all"]);
    project
}

/// Opens the review list, closes it again, and returns its lines.
#[track_caller]
fn list(nvim: &Nvim) -> Vec<String> {
    nvim.cmd("Acp review");
    let lines = "if vim.bo.filetype ~= 'acp-review' then return end
        return vim.api.nvim_buf_get_lines(0, 0, -1, false)";
    let mut list = Vec::new();
    nvim.wait("the review list", || {
        let there = nvim.lua(lines, ());
        let there: Option<Vec<String>> = serde_json::from_value(there).ok();
        list = there.unwrap_or_default();
        list.iter().any(|line| !line.is_empty())
    });
    nvim.keys("q");
    nvim.wait("the list to be closed", || {
        nvim.lua("return vim.bo.filetype", ()) != "acp-review"
    });
    list
}

/// Waits until this many files and hunks are under review.
#[track_caller]
fn wait_review(nvim: &Nvim, files: usize, hunks: usize) {
    let review = "local review = require('acp').status().review or {}
        return { review.files or 0, review.hunks or 0 }";
    let mut last = serde_json::Value::Null;
    nvim.wait(&format!("{files} files and {hunks} hunks"), || {
        last = nvim.lua(review, ());
        last == serde_json::json!([files, hunks])
    });
}
