// What computes and paints motions, and draws them for files: fetched together, when a step first needs them.

export { motionAt } from "./paint.ts";
export { animated, animationOf, Slide } from "./slide.ts";
export { timelineOf } from "./timeline.ts";
