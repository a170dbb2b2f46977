"""A model that follows a script, for real agents: it speaks the four protocols they use.

    model.py SCRIPT [LOG]      prints its port, then serves on loopback until stdin ends

SCRIPT is JSON: {"WORD": [STEP, ...]}. The newest message of the user that contains one of the words
chooses the scene; the number of tool results after it chooses the step. A STEP has "text" and,
optionally, "thought", "call": {"name", "args", "namespace"}, and "slow": the seconds between pieces of its text.
A request without tools (a title, a summary) is answered with a title. Each request is a line of
LOG: the scene, the step, the tools offered, what the user has said.
"""

import itertools
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "scripted"
numbers = itertools.count(1)


def fresh(prefix):
    return f"{prefix}{next(numbers)}"


def text_of(content):
    """Returns the text of a message, whatever its shape."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or content.get("parts"))
    return ""


def pieces(text):
    return re.findall(r".{1,12}", text, re.DOTALL)


class Chat:
    """OpenAI's Chat Completions."""

    path = "/chat/completions"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

    @staticmethod
    def tools(body):
        return [tool["function"]["name"] for tool in body.get("tools") or []]

    @staticmethod
    def history(body):
        for message in body["messages"]:
            is_result = message["role"] == "tool"
            yield "result" if is_result else message["role"], text_of(message.get("content"))

    def message(self, step):
        message = {"role": "assistant", "content": step["text"]}
        if "thought" in step:
            message["reasoning_content"] = step["thought"]
        if "call" in step:
            call = {"name": step["call"]["name"], "arguments": json.dumps(step["call"]["args"])}
            message["tool_calls"] = [{"id": fresh("call"), "type": "function", "function": call}]
        return message, "tool_calls" if "call" in step else "stop"

    def answer(self, kind, choice, usage):
        return {
            "id": "answer",
            "object": kind,
            "created": 0,
            "model": MODEL,
            "choices": [{"index": 0} | choice] if choice else [],
            "usage": usage,
        }

    def whole(self, step):
        message, reason = self.message(step)
        choice = {"message": message, "finish_reason": reason}
        return self.answer("chat.completion", choice, self.usage)

    def events(self, step):
        def delta(fields, reason=None):
            choice = {"delta": fields, "finish_reason": reason}
            return None, self.answer("chat.completion.chunk", choice, None)

        message, reason = self.message(step)
        yield delta({"role": "assistant", "content": ""})
        if "thought" in step:
            yield delta({"reasoning_content": step["thought"]})
        for piece in pieces(step["text"]):
            yield delta({"content": piece})
        for call in message.get("tool_calls", []):
            yield delta({"tool_calls": [{"index": 0} | call]})
        yield delta({}, reason)
        yield None, self.answer("chat.completion.chunk", None, self.usage)
        yield None, "[DONE]"


class Responses:
    """OpenAI's Responses."""

    path = "/responses"

    @staticmethod
    def tools(body):
        return [tool.get("name", tool["type"]) for tool in body.get("tools") or []]

    @staticmethod
    def history(body):
        for item in body["input"]:
            kind = item.get("type", "message")
            if kind == "message":
                yield item["role"], text_of(item["content"])
            elif kind.endswith("_output"):
                yield "result", ""

    def items(self, step):
        if "thought" in step:
            summary = [{"type": "summary_text", "text": step["thought"]}]
            yield {"type": "reasoning", "id": fresh("rs"), "summary": summary}
        text = {"type": "output_text", "text": step["text"], "annotations": []}
        base = {"status": "completed", "role": "assistant", "content": [text]}
        yield {"type": "message", "id": fresh("msg")} | base
        if "call" in step:
            call = {"name": step["call"]["name"], "arguments": json.dumps(step["call"]["args"])}
            if "namespace" in step["call"]:
                call["namespace"] = step["call"]["namespace"]
            ids = {"id": fresh("fc"), "call_id": fresh("call")}
            yield {"type": "function_call", "status": "completed"} | ids | call

    def response(self, items, status):
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        usage |= {"input_tokens_details": {"cached_tokens": 0}}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": "response",
            "object": "response",
            "created_at": 0,
            "model": MODEL,
            "status": status,
            "output": items,
            "usage": usage,
        }

    def whole(self, step):
        return self.response(list(self.items(step)), "completed")

    def events(self, step):
        def event(kind, **fields):
            return kind, {"type": kind} | fields

        yield event("response.created", response=self.response([], "in_progress"))
        items = list(self.items(step))
        for index, item in enumerate(items):
            at = {"item_id": item["id"], "output_index": index}
            begun = item | ({"content": []} if item["type"] == "message" else {})
            yield event("response.output_item.added", output_index=index, item=begun)
            if item["type"] == "message":
                for piece in pieces(step["text"]):
                    yield event("response.output_text.delta", **at, content_index=0, delta=piece)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=self.response(items, "completed"))


class Messages:
    """Anthropic's Messages."""

    path = "/messages"

    @staticmethod
    def tools(body):
        return [tool["name"] for tool in body.get("tools") or []]

    @staticmethod
    def history(body):
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if any(block["type"] == "tool_result" for block in blocks):
                yield "result", ""
            # What the user says while a tool runs may come with its result.
            yield message["role"], text_of([b for b in blocks if b["type"] == "text"])

    def blocks(self, step):
        if "thought" in step:
            yield {"type": "thinking", "thinking": step["thought"], "signature": "c2lnbmVk"}
        yield {"type": "text", "text": step["text"]}
        if "call" in step:
            call = step["call"]
            yield {"type": "tool_use", "id": fresh("call"), "name": call["name"], "input": call["args"]}

    def message(self, blocks, reason):
        return {
            "id": fresh("msg"),
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": blocks,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }

    def reason(self, step):
        return "tool_use" if "call" in step else "end_turn"

    def whole(self, step):
        return self.message(list(self.blocks(step)), self.reason(step))

    def events(self, step):
        def event(kind, **fields):
            return kind, {"type": kind} | fields

        yield event("message_start", message=self.message([], None))
        for index, block in enumerate(self.blocks(step)):
            kind = block["type"]
            if kind == "text":
                empty = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            elif kind == "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
            else:
                empty = block | {"input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(text)]
            yield event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        delta = {"stop_reason": self.reason(step), "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": 20})
        yield event("message_stop")


class Gemini:
    """Google's generateContent."""

    path = ":generateContent"

    @staticmethod
    def tools(body):
        groups = body.get("tools") or []
        return [f["name"] for group in groups for f in group.get("functionDeclarations", [])]

    @staticmethod
    def history(body):
        for content in body["contents"]:
            parts = content["parts"]
            if any("functionResponse" in part for part in parts):
                yield "result", ""
            else:
                yield content.get("role", "user"), text_of(parts)

    def answer(self, parts, reason=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        if reason:
            candidate["finishReason"] = reason
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}

    def calls(self, step):
        return [{"functionCall": step["call"]}] if "call" in step else []

    def whole(self, step):
        return self.answer([{"text": step["text"]}] + self.calls(step), "STOP")

    def events(self, step):
        if "thought" in step:
            yield None, self.answer([{"text": step["thought"], "thought": True}])
        for piece in pieces(step["text"]):
            yield None, self.answer([{"text": piece}])
        yield None, self.answer(self.calls(step) or [{"text": ""}], "STOP")


PROTOCOLS = [Chat(), Responses(), Messages(), Gemini()]


def step_of(script, history):
    """Returns the scene and the step that a conversation has reached."""
    for at in range(len(history) - 1, -1, -1):
        role, text = history[at]
        found = [word for word in script if role == "user" and word in text]
        if found:
            return found[-1], sum(kind == "result" for kind, _ in history[at:])
    return None, 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        listed = {"id": MODEL, "object": "model", "display_name": MODEL, "owned_by": "tests"}
        self.answer({"object": "list", "data": [listed], "has_more": False})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_POST(self):
        body = json.loads(self.read_body() or b"{}")
        path = self.path.split("?")[0].replace(":streamGenerateContent", ":generateContent")
        protocol = next((p for p in PROTOCOLS if path.endswith(p.path)), None)
        if protocol is None:
            counted = {"input_tokens": 100, "totalTokens": 100}
            is_count = path.endswith(("/count_tokens", ":countTokens"))
            return self.answer(counted if is_count else {"error": path}, 200 if is_count else 404)
        tools = protocol.tools(body)
        history = list(protocol.history(body)) if tools else []
        scene, number = step_of(self.server.script, history)
        said = [text for role, text in history if role == "user"]
        steps = self.server.script.get(scene, [])
        step = steps[number] if number < len(steps) else {"text": "A title" if not scene else "."}
        self.server.log({"path": path, "scene": scene, "step": number, "tools": tools, "said": said})
        if not body.get("stream") and ":stream" not in self.path:
            return self.answer(protocol.whole(step))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, event in protocol.events(step):
            head = f"event: {name}\n" if name else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
            self.wfile.flush()
            time.sleep(step.get("slow", 0))
        self.close_connection = True

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            # The agent has cancelled the turn.
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script, log):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.file = log

    def log(self, record):
        if self.file:
            print(json.dumps(record), file=self.file, flush=True)


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    log = open(sys.argv[2], "w") if len(sys.argv) > 2 else None
    server = Server(script, log)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
