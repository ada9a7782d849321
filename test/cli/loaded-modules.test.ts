import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const COMMANDS = new URL('../../src/cli/customer/commands.ts', import.meta.url).href;

/** Prints the URL of each module that the import of one loads. */
const SCRIPT = `
  import { registerHooks } from 'node:module';
  registerHooks({
    load: (url, context, next) => {
      console.log(url);
      return next(url, context);
    },
  });
  await import(${JSON.stringify(COMMANDS)});`;

test('a command loads neither the readers of exports nor those of template files, unless it reads them', async () => {
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', SCRIPT], { cwd });
  expect(stdout).toContain(COMMANDS);
  expect(stdout).not.toMatch(
    /run-import|run-templates|node_modules\/(?:yaml|papaparse|parse5|nodemailer|postal-mime)\//,
  );
});
