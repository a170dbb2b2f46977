"""Stands between a client and an agent, and lets words for a turn reach the agent after that turn.

    late.py HOW OUTCOMES AGENT...

The agent's first answer to session/prompt is held until it has answered session/steering, and that
request is held until the turn has ended. HOW is "turn" (the client learns of the turn's end first),
"answer" (it gets the answer to its words first), either with "-own" (the words ask for a new turn,
as a client's that knows no other way), or "none" (nothing is held). Each outcome is a line of
OUTCOMES.
"""

import json
import subprocess
import sys
import threading

how, outcomes = sys.argv[1], sys.argv[2]
agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
prompts, steers = set(), set()
has_ended = threading.Event()
held = []


def parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return {}


def from_client():
    for line in sys.stdin.buffer:
        message = parse(line)
        method = message.get("method")
        if method == "session/prompt":
            prompts.add(message["id"])
        elif method == "_session/steering":
            steers.add(message["id"])
            if how.endswith("-own"):
                del message["params"]["_meta"]
                line = json.dumps(message).encode() + b"\n"
            if how != "none":
                has_ended.wait(60)
        agent.stdin.write(line)
        agent.stdin.flush()
    agent.stdin.close()


def to_client(line):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


threading.Thread(target=from_client, daemon=True).start()
for line in agent.stdout:
    message = parse(line)
    is_answer = "method" not in message
    if is_answer and message.get("id") in prompts and how != "none" and not has_ended.is_set():
        held.append(line)
        has_ended.set()
        continue
    if is_answer and message.get("id") in steers:
        with open(outcomes, "a") as file:
            print((message.get("result") or {}).get("outcome", message.get("error")), file=file)
        lines = [held.pop(), line] if held and how.startswith("turn") else [line, *held]
        held.clear()
        for each in lines:
            to_client(each)
        continue
    to_client(line)
sys.exit(agent.wait())
