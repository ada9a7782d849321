import { hostname } from 'node:os';
import { problemOfRefusal, SMARTHOST_REMEDIES, smarthostProblem } from '../adapters/mail/smarthost/problems.ts';
import { parseSmarthost, targetOf } from '../adapters/mail/smarthost/smarthost.ts';
import { openSmtpSession, SmtpConnectFailed, type SmtpReply, type SmtpSession } from '../lib/smtp/smtp.ts';

/** A person waits for the answer. A server that greets later is too slow to be of use. */
const CONNECT_MS = 10_000;
const IN_ALL_MS = 20_000;

export interface SmarthostTrial {
  readonly works: boolean;
  /** The result for a person, without a secret. */
  readonly sentence: string;
}

/** RFC 2606 §3: no real mailbox, and never a smarthost's own domain. */
const ELSEWHERE = 'postmaster@example.com';

const saidOf = ({ code, enhanced }: SmtpReply): string =>
  code === 0 ? '' : ` (${[code, enhanced].filter((part) => part !== null).join(' ')})`;

/** Whether it refuses to relay. Other objections to this recipient do not count. */
const refusalOf = async (session: SmtpSession): Promise<SmarthostTrial['sentence'] | null> => {
  const refusal = await session.ask('', ELSEWHERE);
  if (refusal === null) return null;
  const { stage, reply } = refusal;
  const problem = problemOfRefusal({ ...reply, ...session.peer, recipientId: '', outcome: 'bounced', stage });
  return problem === null ? null : `${saidOf(reply)}: ${SMARTHOST_REMEDIES[problem]}`;
};

/** Connects, upgrades to TLS, logs in, asks for a relayed recipient and quits. No mail is sent. */
export const trySmarthost = async (url: string, ehloName = hostname()): Promise<SmarthostTrial> => {
  const smarthost = parseSmarthost(url);
  const { host, port, credentials } = smarthost;
  const place = `the smarthost ${host}, port ${port}`;
  const options = { target: targetOf(smarthost), ehloName, connectMs: CONNECT_MS, onEnd: () => undefined };
  try {
    const session = await openSmtpSession(options, AbortSignal.timeout(IN_ALL_MS));
    const refusal = await refusalOf(session);
    session.quit();
    if (refusal !== null) return { works: false, sentence: `${place}${refusal}` };
    const { tls } = session.peer;
    const login = credentials === null ? 'without a login' : 'and takes the login';
    return { works: true, sentence: `${place} answers ${tls === null ? 'in clear' : `over ${tls}`} ${login}` };
  } catch (error) {
    if (!(error instanceof SmtpConnectFailed)) throw error;
    return { works: false, sentence: `${place}${saidOf(error.reply)}: ${SMARTHOST_REMEDIES[smarthostProblem(error)]}` };
  }
};
