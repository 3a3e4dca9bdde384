// A scene that is a picture: it has the keys of a scene, and lecture mode.

import { followLecture } from "./lecture.js";
import { Scene } from "./scene.js";

new Scene();
followLecture(() => {});
