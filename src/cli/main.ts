import { enableCompileCache } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Compiling its modules takes half of a command's time. If the folder is not writable, nothing is cached.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)));

// `npm run` runs a script in the folder of package.json. Files on the command line are relative to the user's folder, and
// the data is where `npm start` stores it.
const { npm_lifecycle_event: script, INIT_CWD: userFolder } = process.env;
if (script === 'outbox' && userFolder !== undefined) {
  process.env.DATA_DIR = resolve(process.env.DATA_DIR || 'data');
  process.chdir(userFolder);
}

const { runProgram } = await import('./run.ts');
await runProgram({
  commands: async () => (await import('./commands.ts')).COMMANDS,
  runForOperator: async (command, invocation, terminal) =>
    (await import('./run-for-operator.ts')).runForOperator(command, invocation, terminal),
});
