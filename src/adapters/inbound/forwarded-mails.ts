import { Readable } from 'node:stream';
import type { ForwardedMail, ForwardedMails } from '../../domain/ports/inbound.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';
import { pieces } from './authenticate.ts';

/** Prepares received mail to be forwarded: finds loops, and adds the fields of a server that passes mail on. */

/** A longer header is crafted. It is searched as far as this. */
const HEAD_BYTES_MAX = 256_000;
const LF = 10;
const CR = 13;

/** Unfolded header fields, in lower case. */
const fieldsOf = (raw: Buffer): readonly string[] => {
  const text = raw.subarray(0, HEAD_BYTES_MAX).toString('latin1').toLowerCase();
  const [head = ''] = text.split('\r\n\r\n', 1);
  return head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
};

/** Written by `receivedOf`, for any message: mail that two routes forward in a circle ends at the second one. */
const OWN_RECEIVED = /^received: *by [^ ]+ \(outbox\) with esmtp id inb_[a-z2-7]{26};/;
const SEAL = /^arc-seal:/;
const SEALED_BY = /[ ;:]d *= *([a-z0-9.-]+)/;

const wasForwarded = (raw: Buffer, domain: string): boolean =>
  fieldsOf(raw).some(
    (field) => OWN_RECEIVED.test(field) || (SEAL.test(field) && SEALED_BY.exec(field)?.[1] === domain.toLowerCase()),
  );

/** Whether a CR or LF stands alone. Servers that take one for a line end could find commands in the mail. */
const hasBareLineEnd = async (raw: Buffer): Promise<boolean> => {
  let before = 0;
  for await (const piece of pieces(raw)) {
    for (const byte of piece) {
      if ((byte === LF) !== (before === CR)) return true;
      before = byte;
    }
  }
  return before === CR;
};

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** RFC 5321 §4.4. The addresses are left out: recipients of the mail need not learn them. */
const receivedOf = ({ host, inboundId }: ForwardedMail, now: Date): string => {
  const date = now
    .toUTCString()
    .replace(/^\w+/, DAYS[now.getUTCDay()] ?? '')
    .replace('GMT', '+0000');
  return `Received: by ${host} (Outbox) with ESMTP id ${inboundId};\r\n\t${date}\r\n`;
};

/** Text that cannot end the field or the property. */
const PLAIN_ADDRESS = /^[\w.+=-]{1,64}@[\w.-]{1,255}$/;

/** The verdicts of this service when it received the mail (RFC 8601). */
const resultsOf = ({ host, from, verdicts: { spf, dkim, dmarc, arc } }: ForwardedMail): string => {
  const sender = PLAIN_ADDRESS.test(from) ? ` smtp.mailfrom=${from}` : '';
  return `${host};\r\n spf=${spf}${sender};\r\n dkim=${dkim};\r\n dmarc=${dmarc};\r\n arc=${arc}`;
};

/** RFC 8617 §4.1.2 knows RSA; few receivers verify the other. */
const sealingKey = (keys: readonly SigningKey[]): SigningKey | undefined =>
  keys.find(({ algorithm }) => algorithm === 'rsa-sha256');

/** @returns an ARC set; empty if there can be none. */
const sealOf = async (
  mail: ForwardedMail,
  received: Buffer,
  keys: readonly SigningKey[],
  now: Date,
): Promise<Buffer> => {
  const key = sealingKey(keys);
  const { arc: cv } = mail.verdicts;
  if (key === undefined || (cv !== 'none' && cv !== 'pass')) return Buffer.alloc(0);
  const { sealMessage } = await import('mailauth');
  return sealMessage(Readable.from(pieces(received)), {
    signingDomain: key.domain,
    selector: key.selector,
    privateKey: key.privateKey,
    algorithm: key.algorithm,
    authResults: resultsOf(mail),
    cv,
    signTime: now,
  });
};

export const createForwardedMails = (): ForwardedMails => ({
  inspect: async ({ raw, domain }) => ({
    wasForwarded: wasForwarded(raw, domain),
    isMalformed: await hasBareLineEnd(raw),
  }),
  compose: async (mail, keys, now) => {
    const received = Buffer.concat([Buffer.from(receivedOf(mail, now)), mail.raw]);
    return Buffer.concat([await sealOf(mail, received, keys, now), received]);
  },
});
