import { expect, test } from 'vitest';
import { trySmarthost } from '../../src/composition/try-smarthost.ts';
import { deadPort, startSmarthost } from '../adapters/mail/smarthosts.ts';

test('a smarthost that would take mail is told with its TLS and login, and is given no mail', async () => {
  const given: string[] = [];
  const port = await startSmarthost({
    onMailFrom: ({ address }, _session, callback) => {
      given.push(address);
      callback();
    },
  });
  expect(await trySmarthost(`smtp://127.0.0.1:${port}`)).toEqual({
    works: true,
    sentence: `the smarthost 127.0.0.1, port ${port} answers over TLSv1.3 without a login`,
  });
  const clear = await startSmarthost({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  expect(await trySmarthost(`smtp://user:secret@127.0.0.1:${clear}`)).toEqual({
    works: true,
    sentence: `the smarthost 127.0.0.1, port ${clear} answers in clear and takes the login`,
  });
  expect(given).toEqual([]);
});

test('one that would not is told with what to do about it, without the password', async () => {
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
