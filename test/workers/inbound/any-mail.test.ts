import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { SAMPLES } from '../../adapters/inbound/other-parsers/samples.ts';
import { createRandom, type Random } from '../../end-to-end/fuzz/random.ts';
import { talkSmtp } from '../../submission/support/smtp-talk.ts';
import { openReceivingMail } from './receiving-mail.ts';

/** `FUZZ_SEED=7 FUZZ_MAILS=5000` repeats a run, or makes it longer. */
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(performance.timeOrigin % 1_000_000));
const COUNT = Number(process.env.FUZZ_MAILS ?? 300);

const PIECES = [
  '--=_b1',
  '--=_b1--',
  '\r\n\r\n',
  '\r\n ',
  '=?utf-8?b?',
  '?=',
  '"',
  '(',
  '\\',
  ';',
  '\0',
  '\xff',
  'a@b,',
  '<',
  '&',
];
const CHANGES_MAX = 12;

/** A change at a random place: octets are removed, repeated or replaced, or a piece of MIME is inserted. */
const changed = (raw: Buffer, random: Random): Buffer => {
  const at = random.int(raw.length + 1);
  const until = Math.min(raw.length, at + random.int(80));
  const [before, between, after] = [raw.subarray(0, at), raw.subarray(at, until), raw.subarray(until)];
  const inserted = random.pick([
    Buffer.alloc(0),
    Buffer.concat([between, between]),
    Buffer.from(Array.from({ length: random.int(20) }, () => random.int(256))),
    Buffer.concat([Buffer.from(random.pick(PIECES), 'latin1'), between]),
  ]);
  return Buffer.concat([before, inserted, after]);
};

const anyMail = (random: Random): Buffer => {
  let { raw } = random.pick(SAMPLES);
  for (let left = random.int(CHANGES_MAX); left >= 0; left -= 1) raw = changed(raw, random);
  return raw;
};

/** Octets of a mail on the wire, with dots doubled (RFC 5321 §4.5.2). */
const onTheWire = (raw: Buffer): Buffer =>
  Buffer.from(
    `${raw
      .toString('latin1')
      .replace(/\r?\n|\r/g, '\r\n')
      .replace(/^\./gm, '..')}\r\n.\r\n`,
    'latin1',
  );

test(`any mail is received, and is there once however often it is brought (FUZZ_SEED=${SEED})`, async () => {
  const random = createRandom(SEED);
  const shop = await openReceivingMail();
  await shop.makeDomain(await shop.makeOrganization(), 'shop.test');
  const talk = await talkSmtp(shop.port);
  await talk.ask('EHLO mx.example.net\r\n');
  const different = new Set<string>();
  for (let number = 0; number < COUNT; number += 1) {
    const raw = onTheWire(anyMail(random));
    different.add(hash('sha256', raw));
    for (const _ of [1, 2]) {
      for (const command of ['MAIL FROM:<ann@example.net>\r\n', 'RCPT TO:<support@shop.test>\r\n', 'DATA\r\n'])
        expect(`${number}: ${await talk.ask(command)}`).toMatch(/: (?:250|354) /);
      expect(`${number}: ${await talk.ask(raw)}`).toMatch(/: 250 /);
    }
  }
  talk.close();
  const events = await shop.events();
  expect(events).toHaveLength(different.size);
  expect(new Set(events.map(({ data }) => data.sha256)).size).toBe(different.size);
  for (const event of events) {
    expect(hash('sha256', await shop.rawOf(event))).toBe(event.data.sha256);
    expect(Array.isArray((await shop.bodyOf(event)).problems)).toBe(true);
  }
});
