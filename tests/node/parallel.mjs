// Two nodes of a graph pause at once; another process takes the pauses from the checkpoint and asks again.
import { Annotation, Command, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { resumed, review } from "./dist/assent.js";

const State = Annotation.Root({ heard: Annotation({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }) });
const saver = new MemorySaver();
const config = { configurable: { thread_id: "parallel" } };
const asking = { run: "parallel", dialect: "langchain_js" };

const asks = (name) => () => {
  const answer = interrupt({
    actionRequests: [{ name, args: { path: `${name}.txt` } }],
    reviewConfigs: [{ actionName: name, allowedDecisions: ["approve", "reject"] }],
  });
  return { heard: { [name]: answer.decisions } };
};

const graph = () =>
  new StateGraph(State)
    .addNode("left", asks("read_left"))
    .addNode("right", asks("read_right"))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .compile({ checkpointer: saver });

const { __interrupt__: pauses } = await graph().invoke({}, config);
const whoWaitedBefore = review(pauses, asking);

const state = await graph().getState(config);
const { resume, states } = await review(
  state.tasks.flatMap((task) => task.interrupts),
  asking,
);
const { heard } = await graph().invoke(new Command({ resume }), config);
await resumed(states);
await whoWaitedBefore;
console.log(JSON.stringify(heard));
