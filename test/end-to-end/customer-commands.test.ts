import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { linkWarning, readServiceConfig } from '../../src/composition/read-service-config.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The blocks of the README that a second terminal runs, in order. Starting the service is not among them. */
const blocks = async (): Promise<readonly string[]> =>
  [...(await readFile(join(ROOT, 'README.md'), 'utf8')).matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block = '']) => block)
    .filter((block) => !block.includes('npm start'));

const DELIVERED =
  'curl -sS http://127.0.0.1:3000/v1/messages -H "Authorization: Bearer $OUTBOX_KEY" | grep -q \'"status":"delivered","partial"\'';

test('the commands of the README work when a newcomer pastes them one after another', async () => {
  const { dataDir, env } = await placeForTest();
  const program = await programForTest({ dataDir, env });
  const home = await mkdtemp(join(tmpdir(), 'outbox-home-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const paste = async (block: string, domainId = ''): Promise<string> => {
    const command = block
      // A second is enough for a reader; a busy machine may need longer.
      .replace(/^sleep 1 .*$/m, () => `until ${DELIVERED}; do sleep 0.2; done`)
      .replaceAll('http://127.0.0.1:3000', program.baseUrl)
      .replace('ob_live_…', program.keys.live)
      .replace('dom_…', domainId);
    // A shell of a user without ~/.local/bin: the commands make it.
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        LANG: 'C.UTF-8',
        OUTBOX_KEY: program.keys.live,
      },
    });
    return stdout;
  };
  const [first = '', commandLine = '', ownDomain = '', ...others] = await blocks();
  expect(others).toEqual([]);

  const [sent, list, inbox] = (await paste(first))
    .replaceAll('}{', '}\n{')
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(list.data).toEqual([expect.objectContaining({ id: sent.id, status: 'delivered' })]);
  expect(inbox.data).toHaveLength(1);

  expect(commandLine.match(/^.*\boutbox /gm)?.length).toBeGreaterThan(2);
  const stdout = await paste(commandLine);
  expect(stdout).toMatch(/permissions: admin[\s\S]*id: msg_[\s\S]*next: [\s\S]*SUBJECT\nmsg_\S+ .* Hello\n/);
  expect(stdout).not.toContain(program.keys.live);

  const [register = '', ...rest] = ownDomain.split('\n');
  const domain = JSON.parse(await paste(register));
  expect(domain.records.length).toBeGreaterThan(2);
  const [verified, key] = (await paste(rest.join('\n'), domain.id))
    .replaceAll('}{', '}\n{')
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(verified).toMatchObject({ id: domain.id, name: 'mail.example.com' });
  expect(key).toMatchObject({ domain_id: domain.id, permissions: ['send'], key: expect.stringMatching(/^ob_live_/) });
});

test('the start of the README for a domain of your own is complete and warns of nothing', async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, variables = ''] = /^(MAIL_URL=.*) npm start$/m.exec(readme) ?? [];
  const environment = Object.fromEntries(variables.split(' ').map((each) => each.replaceAll("'", '').split(/=(.*)/s)));
  expect(Object.keys(environment)).toEqual(['MAIL_URL', 'PUBLIC_URL']);
  expect(linkWarning(await readServiceConfig(environment))).toBeNull();
});
