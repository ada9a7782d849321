// Node runs TypeScript by leaving out its types, but not below `node_modules`, where an installed package is. This does the
// same there, for the files of this package alone.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const OWN = ['../src/', '../sdk/src/'].map((folder) => new URL(folder, import.meta.url).href);

registerHooks({
  load: (url, context, next) => {
    if (!OWN.some((folder) => url.startsWith(folder)) || !url.endsWith('.ts')) return next(url, context);
    return {
      format: 'module',
      source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8')),
      shortCircuit: true,
    };
  },
});
