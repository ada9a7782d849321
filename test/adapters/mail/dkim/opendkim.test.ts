import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Opendkim, opendkimIsMissing, openOpendkim } from '../../../support/opendkim.ts';
import { createPostOffice } from '../post-office.ts';
import { CORPUS } from './corpus.ts';
import { ed25519, made, rsa, signing } from './signed-mail.ts';

const BOTH = ['pass rsa-sha256 r1', 'pass ed25519-sha256 e1'];

describe.skipIf(opendkimIsMissing)('opendkim', () => {
  const { sent } = createPostOffice();
  let opendkim: Opendkim;
  beforeAll(async () => {
    opendkim = await openOpendkim([rsa.record, ed25519.record]);
  });
  afterAll(() => opendkim.close());

  const verdictsOf = (raw: string) => opendkim.verify(Buffer.from(raw, 'latin1'));

  it.each(Object.entries(CORPUS))('verifies %s', async (_, parts) => {
    expect(await verdictsOf((await sent({ ...parts, signing })).raw)).toEqual(BOTH);
  });

  it('does not verify changed content', async () => {
    const raw = await made({ subject: 'Subject', text: 'Text' });
    const changed = [
      raw.replace('Subject: Subject', 'Subject: Other'),
      raw.replace('\r\nText\r\n', '\r\nOther\r\n'),
      `Subject: Other\r\n${raw}`,
      `Reply-To: evil@c.test\r\n${raw}`,
    ];
    for (const each of changed) {
      expect(each).not.toBe(raw);
      expect((await verdictsOf(each)).some((verdict) => verdict.startsWith('pass'))).toBe(false);
    }
  });
});
