"""An agent of LangGraph with a fake model, served over AG-UI: the word of the prompt decides.

Prints its URL, then serves until stdin ends.
"""

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from serve import serve


class State(MessagesState, total=False):
    tools: list


async def answer(state, config):
    last = state["messages"][-1]
    if last.type == "tool":
        text = f"The tool said {last.content}."
    elif last.content == "tool":
        call = {"name": "colour", "args": {"thing": "sky"}, "id": "call-1"}
        return {"messages": [AIMessage(content="", tool_calls=[call])]}
    elif last.content == "question":
        text = f"You said {interrupt('Which one?')}."
    else:
        text = "Good day to you, reader."
    model = GenericFakeChatModel(messages=iter([AIMessage(content=text)]))
    return {"messages": [await model.ainvoke(state["messages"], config)]}


graph = StateGraph(State)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
graph.add_edge("answer", END)
agent = LangGraphAgent(name="real", graph=graph.compile(checkpointer=MemorySaver()))
app = FastAPI()
add_langgraph_fastapi_endpoint(app=app, agent=agent, path="/agui")
serve(app, "/agui")
