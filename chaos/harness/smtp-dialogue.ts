import type { Socket } from 'node:net';
import { type ActingSmtpPlan, SMTP_COMMANDS, type SmtpAnswer, type SmtpCommand } from './smtp-plan.ts';
import type { SinkMail } from './smtp-sink.ts';

/** An SMTP session with one client. */
export interface Dialogue {
  take(chunk: Buffer): void;
}

export interface DialogueOptions {
  readonly socket: Socket;
  readonly plan: ActingSmtpPlan;
  onMail(mail: SinkMail): void;
}

/** End of a message (RFC 5321 §4.1.1.4); `LINE` is the end of a line. */
const DOT = '\r\n.\r\n';
const LINE = '\r\n';

const OK = '250 2.0.0 ok';
const REPLIES: Partial<Record<SmtpCommand, string>> = {
  CONNECT: '220 sink.example ESMTP',
  EHLO: '250-sink.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES',
  DATA: '354 go on',
  QUIT: '221 2.0.0 bye',
};

const commandOf = (line: string): SmtpCommand => {
  const verb = line.slice(0, 4).toUpperCase();
  return SMTP_COMMANDS.find((command) => command === verb) ?? 'OTHER';
};

const addressIn = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? '';

/** Removes the doubled dot at the start of a line (RFC 5321 §4.5.2). */
const unstuffed = (text: string): string => text.replace(/^\.\./gm, '.');

interface Envelope {
  from: string;
  to: string[];
}

export const openDialogue = ({ socket, plan, onMail }: DialogueOptions): Dialogue => {
  let buffer = '';
  let inMessage = false;
  let busy = false;
  let envelope: Envelope = { from: '', to: [] };

  const reply = (text: string): Promise<void> =>
    new Promise((resolve) => {
      // The callback also fires if the socket is closed before everything is written.
      socket.write(text + LINE, () => resolve());
    });

  const note = (command: SmtpCommand, line: string): void => {
    if (command === 'MAIL') envelope = { from: addressIn(line), to: [] };
    if (command === 'RCPT') envelope.to.push(addressIn(line));
    if (command === 'DATA') inMessage = true;
  };

  const answerOtherwise = async (said: SmtpAnswer): Promise<void> => {
    if (said === 'hang up') socket.destroy();
    else if (said !== 'no answer') await reply(said.reply);
  };

  /** @returns true if the client got the usual reply. */
  const answer = async (command: SmtpCommand, taken: () => void = () => undefined): Promise<boolean> => {
    const said = await plan.reach({ command, when: 'arrived' });
    if (said === undefined) {
      taken();
      await reply(REPLIES[command] ?? OK);
    } else await answerOtherwise(said);
    await plan.reach({ command, when: 'replied' });
    if (command === 'QUIT') socket.end();
    return said === undefined;
  };

  const takeLine = async (line: string): Promise<void> => {
    const command = commandOf(line);
    if (await answer(command)) note(command, line);
  };

  const takeMessage = async (text: string): Promise<void> => {
    inMessage = false;
    const mail = { ...envelope, raw: unstuffed(text), atMs: Date.now() };
    await answer('DOT', () => onMail(mail));
  };

  /** Removes the text before the marker from the buffer and returns it; null: the marker has not arrived. */
  const before = (marker: string): string | null => {
    const end = buffer.indexOf(marker);
    if (end === -1) return null;
    const text = buffer.slice(0, end);
    buffer = buffer.slice(end + marker.length);
    return text;
  };

  const takeNext = async (): Promise<boolean> => {
    const text = before(inMessage ? DOT : LINE);
    if (text === null || socket.destroyed) return false;
    await (inMessage ? takeMessage(text) : takeLine(text));
    return true;
  };

  const work = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    let more = true;
    while (more) more = await takeNext();
    busy = false;
  };

  busy = true;
  void answer('CONNECT').then(() => {
    busy = false;
    return work();
  });
  return {
    take: (chunk) => {
      buffer += chunk.toString('latin1');
      void work();
    },
  };
};
