"""An agent of pydantic-ai without a model: the tests' AG-UI counterpart that follows the prompt.

Prints its URL, then serves until stdin ends.
"""

import json
import os
import socket
import sys
import threading

import uvicorn
from ag_ui.core import EventType, StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, ToolReturn
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class State(BaseModel):
    count: int = 0


# What the prompt asks for: a tool and its arguments, in the pieces in which a model sends them.
CALLS = {
    "confirm": [
        ("confirmAction", ['{"act', 'ion":"Depl', 'oy to production","importance":"high"}'])
    ],
    "twice": [
        ("confirmAction", ['{"action":"one"}']),
        ("confirmAction", ['{"action":"two"}']),
    ],
    "invalid": [("confirmAction", ['{"importance":"huge"}'])],
    "delete": [("delete_file", ['{"path":"x.txt"}'])],
    "count": [("count", ["{}"])],
    "edit": [("edit", None)],
}


async def model(messages, info):
    last = messages[-1]
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    prompt = prompts[-1] if isinstance(prompts[-1], str) else prompts[-1][0]
    word, _, rest = prompt.partition(" ")
    results = [part for part in last.parts if isinstance(part, ToolReturnPart)]
    if any(isinstance(part, UserPromptPart) for part in last.parts):
        results = []
    if results:
        for part in results:
            yield f"{part.tool_name}: {part.outcome}: {part.model_response_str()}\n"
    elif word in CALLS:
        for index, (tool, pieces) in enumerate(CALLS[word]):
            yield {index: DeltaToolCall(name=tool, tool_call_id=f"{tool}-{index}-{len(messages)}")}
            for piece in pieces or [rest]:
                yield {index: DeltaToolCall(json_args=piece)}
    elif word == "think":
        for piece in ["Let me ", "think."]:
            yield {0: DeltaThinkingPart(content=piece)}
        yield "Done."
    elif word == "tools":
        yield ", ".join(sorted(tool.name for tool in info.function_tools))
    elif word == "fail":
        raise RuntimeError("the model is out of words")
    elif word == "history":
        yield f"{len(prompts)} prompts: {' | '.join(map(str, prompts))}"
    else:
        for piece in ["You ", "said ", f"**{prompt}**", "."]:
            yield piece


agent = Agent(
    FunctionModel(stream_function=model),
    deps_type=StateDeps[State],
    output_type=[str, DeferredToolRequests],
)


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    return f"{path} is deleted"


@agent.tool
def count(ctx) -> ToolReturn:
    deps = ctx.deps
    deps.state.count += 1
    change = [{"op": "add", "path": "/seen", "value": True}]
    return ToolReturn(
        return_value=str(deps.state.count),
        metadata=[
            StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot=deps.state),
            StateDeltaEvent(type=EventType.STATE_DELTA, delta=change),
        ],
    )


async def run(request: Request) -> Response:
    token = os.environ.get("AGENT_TOKEN")
    if token and request.headers.get("authorization") != f"Bearer {token}":
        return Response("no", status_code=401)
    log = os.environ.get("AGENT_LOG")
    if log:
        with open(log, "a") as file:
            file.write(json.dumps(await request.json()) + "\n")
    return await AGUIAdapter.dispatch_request(
        request, agent=agent, deps=StateDeps(State())
    )


app = Starlette(routes=[Route("/agui", run, methods=["POST"])])

if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))

    def until_eof() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=until_eof, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/agui", flush=True)
    server.run(sockets=[listener])
