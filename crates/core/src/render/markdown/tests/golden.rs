//! Snapshots of ordinary markdown: each line, followed by its spans.

use super::*;

/// Compares the finished lines of `text` with the snapshot of this name.
fn check(name: &str, text: &str) {
    insta::with_settings!({
        prepend_module_to_snapshot => false,
        snapshot_path => "../snapshots",
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, dump(&lines(text)));
    });
}

/// Compares the lines after each chunk with the snapshot of this name.
fn check_stream(name: &str, chunks: &[&str]) {
    let mut markdown = Markdown::new();
    let mut screen = Screen::default();
    let mut out = String::new();
    for chunk in chunks {
        markdown.push(chunk);
        screen.show(&mut markdown);
        out.push_str(&format!("=== {chunk:?}\n{}", dump(&screen.0)));
    }
    markdown.finish();
    screen.show(&mut markdown);
    out.push_str(&format!("=== end\n{}", dump(&screen.0)));
    insta::with_settings!({
        prepend_module_to_snapshot => false,
        snapshot_path => "../snapshots",
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, out);
    });
}

#[test]
fn headings() {
    check(
        "headings",
        "# One\n\n### Three with `code` and *stress*\ntext\n####### seven\n\nOld style\n=========\nof two\nlines\n---\n#hash\n",
    );
}

#[test]
fn inline() {
    check(
        "inline",
        "**bold**, *italic*, ***both***, ~~gone~~, `code`, ``co`de``, \\*plain\\*, 2 * 3 * 4, a_b_c.\n\
         A [link](http://a.b/c \"title\"), ![image](a.png), <http://a.b>, <a@b.c>, https://a.b/c_d?e=f.\n\
         A [reference][r] and [r], (see http://a.b).\n\
         *Stress over\ntwo lines* and <b>HTML</b>.\n\n[r]: http://a.b\n\n\
         Grüße: **ä** `→` 日本 *語*\n",
    );
}

#[test]
fn nested_lists() {
    check(
        "nested_lists",
        "- one **bold**\n  - two\n    1. three\n       more of three\n  - two again\n\n    a paragraph in it\n- [x] done\n- [ ] open\nlazy\n\n10. ten\n11. eleven\n    * star\n\n          code in the list\n\n***\n+ plus\n\n\tin a tab\n",
    );
}

#[test]
fn tables() {
    check(
        "tables",
        "| Name | Value |\n|:-----|------:|\n| `a|b` \\| c | **d** |\n| e |\n\nLeft | Right\n--- | ---\nno | pipes\nat ends | here\n\n| no | table |\n\n- | in | list |\n  |----|------|\n  | a  | [b](c) |\n",
    );
}

#[test]
fn quotes() {
    check(
        "quotes",
        "> A quote with *stress\n> over lines*\nand a lazy line\n>\n> > nested `code`\n> > - list\n>\n> ```rust\n> fn main() {}\n> ```\n\nafter\n",
    );
}

#[test]
fn code_blocks() {
    check(
        "code_blocks",
        "```\nno language *here*\n```\n~~~unknown\n# x\n~~~\n\n    indented *code*\n\n    more\n\n1. Run\n   ```sh\n   ls \"$HOME\" | wc -l\n\n   # done\n   ```\n2. next\n\n- ```py\n  def f(): pass\nnot code\n\n````md\n```rust\n```\n````\n```console\n$ git commit -m 'a'\ndon't\n```\n",
    );
}

#[test]
fn html() {
    check(
        "html",
        "<details>\n<summary>**not bold**</summary>\n\n**bold**\n\n</details>\n\n<!-- a\n\n# comment\n-->\n# heading\n",
    );
}

#[test]
fn languages() {
    check(
        "languages",
        "```rust,ignore\n#[derive(Debug)]\n/// Doc.\npub async fn run<'a, T: dyn Foo>(x: &'a str, n: u32) -> Result<Vec<u8>, Error> {\n    let mut y = Self::new(n, 0x1f, 'c', \"s\\n{x}\")?;\n    println!(\"{}\", y.len()); /* a\n    b */ match y { Some(_) => true, None => MAX }\n}\n```\n\
         ```ts title=\"a.ts\"\nimport { a } from \"./a\";\nexport class B<T> extends C {\n  async m(x: number): Promise<void> { return await this.f(`${x}!`, /r+/g); } // c\n}\nconst o = { key: 1, f: () => null };\n```\n\
         ```tsx\nconst A = () => <div className=\"x\">{y}</div>;\n```\n\
         ```{.python}\n@dec\nclass A(B):\n    \"\"\"Doc.\"\"\"\n    def f(self, x: int = 1) -> str:\n        return f\"{x!r} \" + None if x and not y else 'z'  # c\n```\n\
         ```lua\nlocal M = {}\nfunction M.f(a) return a.b:c(\"x\", 1.5) end -- c\nvim.keymap.set(\"n\", \"x\", function() end, { buffer = true })\n```\n\
         ```go\nfunc (s *S) Run(ctx context.Context) error {\n\treturn fmt.Errorf(\"x %d\", len(s.m))\n}\n```\n\
         ```c++\n#include <vector>\nint main() { auto x = std::vector<int>{1}; return 0; }\n```\n\
         ```jsonc\n{ \"key\": [1, true, null, \"s\"] } // c\n```\n\
         ```yaml\nkey: value\nlist:\n  - 1 # c\n```\n\
         ```toml\n[a.b]\nkey = \"v\" # c\n```\n\
         ```bash\nfor f in \"$@\"; do echo \"${f%.*}\" > /dev/null; done # c\n```\n\
         ```diff\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn\n same\n-old\n+new\n```\n\
         ```html\n<a href=\"x\" class='y'>t</a>\n<!-- c -->\n```\n\
         ```css\n.a > b { color: #fff; margin: 1px; }\n```\n\
         ```sql\nSELECT a, count(*) FROM t WHERE b = 'x' -- c\n```\n\
         ```vim\nlet g:x = 1 \" c\nautocmd BufRead * echo 'x'\n```\n\
         ```dockerfile\nFROM rust:1 AS build\nRUN cargo build\n```\n\
         ```src/main.rs\nfn main() {}\n```\n",
    );
}

#[test]
fn an_open_fence_is_code_at_once() {
    check_stream(
        "stream_fence",
        &[
            "Text\n`",
            "`",
            "`",
            "ru",
            "st",
            "\nfn ma",
            "in() { \"a",
            "\" }\n",
            "``",
            "`",
            "\nText",
        ],
    );
}

#[test]
fn marks_that_are_not_settled_are_plain() {
    check_stream(
        "stream_marks",
        &[
            "Some **bo",
            "ld*",
            "* and `co",
            "de`",
            " and\n-",
            "-",
            " a dash\n\n",
            "Name | Value\n-",
            "--|-",
            "--\na",
            " | b\n",
            "-",
            " item *x",
            "*",
        ],
    );
}

#[test]
fn a_line_end_may_be_cut() {
    check_stream(
        "stream_line_ends",
        &["a\r", "\nb\r", "c\n", "\r", "\n\r\n", "d\r"],
    );
}

#[test]
fn unclosed_things_stay_what_they_are() {
    check(
        "unclosed",
        "**bold and `code\n\nnext [link](http://a\n\n| a | b |\n|--\n\n> quote `a\n\n- ```py\n  def f(",
    );
}
