import { hostname } from 'node:os';
import { SMARTHOST_REMEDIES, smarthostProblem } from '../adapters/mail/smarthost-problem.ts';
import { openSmtpSession, SmtpConnectFailed } from '../adapters/mail/smtp-session.ts';
import { parseSmarthost, targetOf } from '../adapters/mail/smtp-url.ts';

/** Somebody waits for the answer; a server that greets later than this is too slow to be of use. */
const CONNECT_MS = 10_000;
const IN_ALL_MS = 20_000;

export interface SmarthostTried {
  readonly works: boolean;
  /** What there is to be told, in a sentence without a secret. */
  readonly sentence: string;
}

/** Connects, turns to TLS, logs in as `url` says, and takes leave: no mail is sent. */
export const trySmarthost = async (url: string, ehloName = hostname()): Promise<SmarthostTried> => {
  const smarthost = parseSmarthost(url);
  const { host, port, credentials } = smarthost;
  const place = `the smarthost ${host}, port ${port}`;
  const options = { target: targetOf(smarthost), ehloName, connectMs: CONNECT_MS, onEnd: () => undefined };
  try {
    const session = await openSmtpSession(options, AbortSignal.timeout(IN_ALL_MS));
    session.quit();
    const { tls } = session.side;
    const login = credentials === null ? 'without a login' : 'and takes the login';
    return { works: true, sentence: `${place} answers ${tls === null ? 'in clear' : `over ${tls}`} ${login}` };
  } catch (error) {
    if (!(error instanceof SmtpConnectFailed)) throw error;
    const { code, enhanced } = error.reply;
    const said = code === 0 ? '' : ` (${[code, enhanced].filter((part) => part !== null).join(' ')})`;
    return { works: false, sentence: `${place}${said}: ${SMARTHOST_REMEDIES[smarthostProblem(error)]}` };
  }
};
