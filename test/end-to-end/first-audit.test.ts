import { execFile } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { folderForTest, placeForTest, programForTest } from '../support/place-for-test.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Block {
  readonly language: string;
  readonly text: string;
}

/** Removes what differs between two runs: ids, times, sizes, hashes, the name of the log. The rest must be as printed. */
const withoutValues = (output: string): string =>
  output
    .replace(/\b(org|key|msg|aud|dom)_[a-z2-7]{26}/g, '$1_')
    .replace(/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'uuid')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replace(/\b(?:127\.0\.0\.1:\d+|outbox\.example\.com)(?=\/)/g, 'origin')
    .replace(/\+[\da-f]{8}\+\S{44}/g, '+key')
    .replace(/org_ \S{90,}$/gm, 'org_ signature')
    .replace(/ob_audit_\w+/g, 'token')
    .replace(/"token_last4":"\w{4}"/g, '"token_last4":""')
    .replace(/^(\s*(?:root )?)\S{43}=$/gm, '$1root')
    .replace(/\b(leaf|revision) \d+/g, '$1 N')
    .replace(/\b\d+(?= leaves)/g, 'N')
    .replace(/^\d+$/gm, 'N')
    // The events around a removed one depend on how quickly the message was delivered.
    .replace(/(?<=between event uuid ).*/g, '…')
    .replace(/compared with \d+ other/g, 'compared with N other')
    // A checkpoint that was signed behind the removed event, if there is one, is a fault as well.
    .replace(/^ {2}the checkpoint in leaf N covers .*\n/gm, '')
    .replace(/(?<=^ {2}leaf .*, by .*), \{.*\}$/gm, ', data');

type Values = Record<string, string>;

const isObject = (output: string): boolean => output.startsWith('{') && !output.includes('}{');

/** The values of a response that the next commands name. */
const namedIn = (output: string): Values => {
  if (!isObject(output)) return {};
  const { token, id = '', key } = JSON.parse(output);
  return {
    ...(token === undefined ? {} : { OUTBOX_TOKEN: token }),
    ...(id.startsWith('key_') ? { KEY_ID: id, SHOP_KEY: key } : {}),
  };
};

/** Runs a block in a shell, with values in the place of those that a reader fills in. @returns what it prints. */
const paste = async (text: string, cwd: string, values: Values): Promise<string> => {
  const command = text.replace(/^export (\w+)=.*$/gm, (_, name: string) => `export ${name}=${values[name]}`);
  const env = { ...process.env, ...values, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` };
  const exit = await run('bash', ['-uo', 'pipefail', '-c', command], { cwd, env }).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    (error: unknown) => error as { readonly stdout: string; readonly code: number },
  );
  const verdict = ['consistent in itself', 'not verified'].find((begin) => exit.stdout.startsWith(begin));
  expect(exit.code, text).toBe({ 'not verified': 1, 'consistent in itself': 2 }[verdict ?? ''] ?? 0);
  return exit.stdout;
};

test('docs/first-audit.md leads to a verified history of a key, and its outputs are true', async () => {
  const program = await programForTest(await placeForTest({ AUDIT_INTERVAL: '1' }));
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'verifier/outbox-audit-verify.mjs'), join(folder, 'outbox-audit-verify.mjs'));
  const page = await readFile(join(ROOT, 'docs/first-audit.md'), 'utf8');
  const blocks = [...page.matchAll(/```(sh|text|json)\n([\s\S]*?)```/g)].map(
    ([, language = '', text = '']): Block => ({ language, text }),
  );

  const headers = { authorization: `Bearer ${program.keys.live}` };
  const get = async (path: string) =>
    (await (await fetch(`${program.baseUrl}${path}`, { headers })).json()) as {
      id: string;
      data: { id: string; leaf_index?: number }[];
    };
  const values: Values = {
    OUTBOX_URL: program.baseUrl,
    OUTBOX_KEY: program.keys.live,
    ORGANIZATION: (await get('/v1/organization')).id,
    DOMAIN_ID: (await get('/v1/domains')).data[0]?.id ?? '',
  };
  /** Place of an event of the key in the log, once the audit tree has it. null: there is no key yet. */
  const leafOf = async (type: string): Promise<number | null> => {
    if (values.KEY_ID === undefined) return null;
    const [entry] = (await get(`/v1/audit/log?key_id=${values.KEY_ID}&type=${type}`)).data;
    return entry?.leaf_index ?? Number.POSITIVE_INFINITY;
  };
  /** Waits for a checkpoint over all events of the key so far, as the page tells the reader to. */
  const waitForCheckpoint = () =>
    vi.waitFor(async () => {
      const last = await leafOf('KeyDeleted');
      const answer = await fetch(`${program.baseUrl}/v1/audit/checkpoints`, { method: 'POST', headers });
      expect(answer.status).toBeLessThan(300);
      const { size } = (await answer.json()) as { readonly size: number };
      expect(size).toBeGreaterThan(last ?? 0);
    }, 60_000);

  let printed = '';
  let compared = 0;
  const read = async ({ language, text }: Block): Promise<void> => {
    if (language !== 'sh') {
      // A block of output belongs to the last commands that printed something.
      compared += 1;
      expect(withoutValues(printed).trim(), text).toBe(withoutValues(text).trim());
      return;
    }
    if (text.includes('/v1/audit/')) await waitForCheckpoint();
    const output = await paste(text, folder, values);
    Object.assign(values, namedIn(output));
    printed = output.trim() === '' ? printed : output;
  };
  for (const block of blocks) await read(block);

  expect(compared).toBe(6);
  const pdf = await readFile(join(folder, 'key.pdf'));
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
});
