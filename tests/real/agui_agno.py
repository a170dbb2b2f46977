"""An agent of Agno with a fake model, served over AG-UI: the word of the prompt decides.

Prints its URL, then serves until stdin ends.
"""

from dataclasses import dataclass

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI
from serve import serve


@dataclass
class Fake(Model):
    id: str = "fake"

    def answer(self, messages):
        last = messages[-1]
        if last.role == "tool":
            return ModelResponse(role="assistant", content=f"The tool said {last.content}.")
        # The editor's context follows the prompt.
        if str(last.content).startswith("tool"):
            function = {"name": "colour", "arguments": '{"thing": "sky"}'}
            call = {"id": "call-1", "type": "function", "function": function}
            return ModelResponse(role="assistant", tool_calls=[call])
        return ModelResponse(role="assistant", content="Good day to you, reader.")

    def invoke(self, messages, **_):
        return self.answer(messages)

    async def ainvoke(self, messages, **_):
        return self.answer(messages)

    def invoke_stream(self, messages, **_):
        yield self.answer(messages)

    async def ainvoke_stream(self, messages, **_):
        yield self.answer(messages)

    def _parse_provider_response(self, response, **_):
        return response

    def _parse_provider_response_delta(self, response):
        return response


agent = Agent(name="real", model=Fake(), db=InMemoryDb(), telemetry=False)
app = AgentOS(agents=[agent], interfaces=[AGUI(agent=agent)], telemetry=False).get_app()
serve(app, "/agui")
