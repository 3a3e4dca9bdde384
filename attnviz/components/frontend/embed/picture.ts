// A scene that is a picture: it has the keys of a scene, and lecture mode.

import { followLecture } from "./lecture.ts";
import { Scene } from "./scene.ts";

new Scene();
followLecture(() => {});
