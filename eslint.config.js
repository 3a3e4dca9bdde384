// What the linter holds the browser side to. Formatting is Prettier's; types are the compiler's (tsconfig.json).

import css from "@eslint/css";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import typescript from "typescript-eslint";

const WIDTH = 120;

/** ESLint's own max-len reads JavaScript alone. */
const lineLength = {
  create: ({ sourceCode, report }) => ({
    StyleSheet() {
      for (const [n, line] of sourceCode.lines.entries()) {
        if (line.length > WIDTH) {
          report({ loc: { line: n + 1, column: 1 }, message: `longer than ${WIDTH} characters` });
        }
      }
    },
  }),
};

export default defineConfig([
  globalIgnores(["build/", "site/", ".venv*/", "attnviz/components/dist/"]),
  {
    files: ["**/*.js", "**/*.ts"],
    plugins: { js, typescript: typescript.plugin },
    extends: ["js/recommended"],
    languageOptions: { globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "max-len": ["error", { code: WIDTH }],
      "max-lines": ["error", 500],
      "max-lines-per-function": ["error", 55],
      "no-implicit-globals": "error",
      "no-param-reassign": "error",
      "typescript/no-shadow": ["error", { builtinGlobals: false }],
      "no-unused-vars": "off",
      "typescript/no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "no-useless-assignment": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    files: ["**/*.ts"],
    languageOptions: { parser: typescript.parser },
    rules: { "no-undef": "off" }, // the compiler's job
  },
  {
    files: ["**/*.css"],
    language: "css/css",
    plugins: { css, attnviz: { rules: { "line-length": lineLength } } },
    extends: ["css/recommended"],
    rules: {
      "attnviz/line-length": "error",
      "css/no-important": "off", // Streamlit's own rules are overruled in no other way
      "css/no-invalid-properties": "off", // it can't read a variable whose value is a color-mix() or a min()
      "css/use-baseline": [
        "error",
        {
          available: "newly",
          // A browser that does not know these shows and does the same.
          allowProperties: ["accent-color", "overscroll-behavior", "resize", "scrollbar-width", "user-select"],
        },
      ],
    },
  },
]);
