import { expect, test } from 'vitest';
import { trySmarthost } from '../../src/composition/mail-health.ts';
import { deadPort, startSmarthost } from '../adapters/mail/smarthost/smarthosts.ts';

test('a working smarthost is reported with its TLS and login, and no mail is sent', async () => {
  const given: string[] = [];
  const port = await startSmarthost({
    onData: (stream, _session, callback) => {
      given.push('a message');
      stream.resume().on('end', () => callback());
    },
  });
  expect(await trySmarthost(`smtp://127.0.0.1:${port}`)).toEqual({
    works: true,
    sentence: `the smarthost 127.0.0.1, port ${port} answers over TLSv1.3 without a login`,
  });
  const clear = await startSmarthost({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  expect(await trySmarthost(`smtp://user:secret@127.0.0.1:${clear}`)).toEqual({
    works: true,
    sentence: `the smarthost 127.0.0.1, port ${clear} answers without TLS and accepts the login`,
  });
  expect(given).toEqual([]);
});

test('a smarthost that denies relaying is reported as such, but one that rejects only the probed recipient works', async () => {
  const answering = (text: string) =>
    startSmarthost({
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error(text), { responseCode: 554 })),
    });
  const denying = await answering('5.7.1 <postmaster@example.com>: Relay access denied');
  expect(await trySmarthost(`smtp://127.0.0.1:${denying}`)).toEqual({
    works: false,
    sentence: expect.stringMatching(/port \d+ \(554 5\.7\.1\): it relays no mail for this service/),
  });
  const knowing = await answering('5.1.1 nobody there');
  expect(await trySmarthost(`smtp://127.0.0.1:${knowing}`)).toMatchObject({ works: true });
});

test('a smarthost that does not work is reported with a remedy, and without the password', async () => {
  const port = await startSmarthost();
  const refused = await trySmarthost(`smtp://user:hunter2@127.0.0.1:${port}`);
  expect(refused.works).toBe(false);
  expect(refused.sentence).toMatch(
    /^the smarthost 127\.0\.0\.1, port \d+ \(535 5\.7\.8\): it refuses the login: correct/,
  );
  expect(refused.sentence).not.toMatch(/hunter2|user:/);
  const dead = await trySmarthost(`smtp://127.0.0.1:${await deadPort()}`);
  expect(dead).toMatchObject({ works: false, sentence: expect.stringMatching(/nothing answers there/) });
});
