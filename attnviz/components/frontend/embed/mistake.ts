// A scene with a mistake beside what is right, which stays hidden until it is revealed.

import { followLecture } from "./lecture.ts";
import { Scene } from "./scene.ts";

const answers: NodeListOf<HTMLElement> = document.querySelectorAll(".mistake-answer");

function reveal() {
  for (const answer of answers) answer.hidden = false;
  scene.ask(false);
}

const scene = new Scene({ reveal, step: () => "", choose: () => {} });
followLecture(() => {});
