// A scene with a mistake beside what is right, which stays hidden until it is revealed.

import { followLecture } from "./lecture.js";
import { Scene } from "./scene.js";

/** @type {NodeListOf<HTMLElement>} */
const answers = document.querySelectorAll(".mistake-answer");

function reveal() {
  for (const answer of answers) answer.hidden = false;
  scene.ask(false);
}

const scene = new Scene({ reveal, step: () => "", choose: () => {} });
followLecture(() => {});
