import { createOutgoingMessages } from '../../../../src/adapters/mail/compose.ts';
import type { OutgoingMail } from '../../../../src/domain/ports/mail.ts';
import type { MimeMessage } from '../../../../src/lib/mime/mime.ts';
import type { SigningKey } from '../../../../src/lib/smtp/smtp.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';
import { ed25519Key, rsaKey } from './test-keys.ts';
import { createVerifier } from './verify.ts';

export const rsa = rsaKey();
export const ed25519 = ed25519Key();
export const signing: readonly SigningKey[] = [rsa.key, ed25519.key];
export const verify = createVerifier([rsa, ed25519]);
export const BOTH = ['pass rsa-sha256 r1 a.test', 'pass ed25519-sha256 e1 a.test'];
export const NEITHER = BOTH.map((pass) => pass.replace('pass', 'fail'));

const messages = createOutgoingMessages({ now: () => new Date() });

export const messageOf = async (mail: OutgoingMail): Promise<MimeMessage> =>
  (await messages.prepare(mail))(mail.envelope);

export const bytesOf = async (mail: OutgoingMail): Promise<Buffer> =>
  Buffer.concat([...(await messageOf(mail)).chunks()]);

/** The mail as sent. Each byte is one character. */
export const made = async (parts: MailParts): Promise<string> =>
  (await bytesOf(outgoingMail({ signing, ...parts }))).toString('latin1');

/** Header fields as sent, folded, without their last CRLF. */
export const fieldsOf = (raw: string): readonly string[] =>
  raw.slice(0, raw.indexOf('\r\n\r\n')).split(/\r\n(?![ \t])/);

export const nameOf = (field: string): string => field.slice(0, field.indexOf(':'));
