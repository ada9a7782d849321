import { onTestFinished } from 'vitest';
import { createSmtpTransport } from '../../../../src/adapters/mail/smarthost.ts';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { MailTransport } from '../../../../src/domain/ports/mail.ts';
import {
  type Script,
  type ScriptedServerOptions,
  startScriptedServer,
  type Write,
} from '../../../support/scripted-smtp-server/scripted-server.ts';
import { type MailParts, outgoingMail } from '../outgoing-mail.ts';

export const system = createSystem();
/** At most one session by default, so that the next message meets its faults. */
export const start = async (
  script: Script = {},
  options: Write | ScriptedServerOptions = {},
  { sessionsMax = 1 }: { readonly sessionsMax?: number } = {},
) => {
  const server = await startScriptedServer(script, typeof options === 'function' ? { write: options } : options);
  const transport = createSmtpTransport({ url: server.url, ehloName: 'sender.a.test', system, sessionsMax });
  onTestFinished(server.close);
  onTestFinished(transport.close);
  return { server, transport };
};

export const send = async (transport: MailTransport, parts: MailParts = {}) =>
  (await transport.send(outgoingMail(parts), { deadlineMs: system.monotonicMs() + 5_000 })).map(
    ({ outcome, code, text }) => [outcome, code, text],
  );

export const DELIVERED = ['delivered', 250, 'Ok: queued as 1'];

export const three: MailParts = { envelopeTo: ['one@b.test', 'two@b.test', 'three@b.test'] };
export const refuseTwo: Script = {
  RCPT: (line) => (line.includes('two@') ? '550-5.1.1 No\r\n550 5.1.1 such user — 無' : undefined),
};
export const TWO_REFUSED = [DELIVERED, ['bounced', 550, 'No such user — 無'], DELIVERED];
