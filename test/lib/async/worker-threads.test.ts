import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

/** Creates garbage, and returns the size of the young generation. */
const ENTRY = `
  import { parentPort } from 'node:worker_threads';
  import { getHeapSpaceStatistics } from 'node:v8';
  const megabytes = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size / 1e6;
  parentPort.on('message', () => {
    let kept = [];
    for (let made = 0; made < 1e6; made += 1) kept = made % 20_000 === 0 ? [] : [...kept.slice(-1), { made, text: String(made) }];
    parentPort.postMessage({ result: megabytes() });
  });`;

const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { createWorkerThreads } from ${JSON.stringify(new URL('../../../src/lib/async/worker-threads.ts', import.meta.url))};
  const entry = new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(ENTRY)}));
  const { run, close } = createWorkerThreads({ entry, threads: 1, runMsMax: 60_000, waitMsMax: 60_000, tasksMax: 1 });
  const thread = await run(0, 'a');
  await close();
  const main = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size / 1e6;
  console.log(JSON.stringify({ main, thread }));`;

const flags = packageJson.scripts.start.split(' ').filter((word) => word.startsWith('--'));

test('a thread does not inherit the young generation size that npm start gives the event loop', () => {
  const printed = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', PROGRAM], {
    encoding: 'utf8',
  });
  const { main, thread } = JSON.parse(printed) as { readonly main: number; readonly thread: number };
  expect(main).toBeGreaterThan(30);
  expect(thread).toBeLessThan(25);
});
