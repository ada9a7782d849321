import { hostname } from 'node:os';
import {
  parseSmarthost,
  problemOfRefusal,
  SMARTHOST_REMEDIES,
  smarthostProblem,
  targetOf,
} from '../adapters/mail/smarthost.ts';
import type { CommandContext } from '../commands/execute.ts';
import type { Config } from '../config.ts';
import type { HealthParts } from '../http/service-health.ts';
import {
  openSmtpSession,
  type Resolver,
  ResolverUnavailable,
  SmtpConnectFailed,
  type SmtpReply,
  type SmtpSession,
} from '../lib/smtp/smtp.ts';
import type { Engines } from './open-engines.ts';
import type { MailSettings } from './open-operator.ts';

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
    const login = credentials === null ? 'without a login' : 'and accepts the login';
    return { works: true, sentence: `${place} answers ${tls === null ? 'without TLS' : `over ${tls}`} ${login}` };
  } catch (error) {
    if (!(error instanceof SmtpConnectFailed)) throw error;
    return { works: false, sentence: `${place}${saidOf(error.reply)}: ${SMARTHOST_REMEDIES[smarthostProblem(error)]}` };
  }
};

/** Problems that prevent direct delivery or the receipt of bounces: missing DNS names and closed ports. */

const SMTP_PORT = 25;

/** DNS records of a name; null: the DNS does not answer. */
const known = async <Found>(
  asked: Promise<{ readonly records: readonly Found[] }>,
): Promise<readonly Found[] | null> => {
  try {
    return (await asked).records;
  } catch (error) {
    if (error instanceof ResolverUnavailable) return null;
    throw error;
  }
};

/** Hosts that receive bounces: the MX hosts, or the domain itself (RFC 5321 §5.1). */
const bounceHosts = async (resolver: Resolver, domain: string): Promise<readonly string[] | null> => {
  const records = await known(resolver.mx(domain));
  if (records === null) return null;
  return records.length === 0 ? [domain] : records.map(({ exchange }) => exchange).filter((host) => host !== '');
};

/** null: it answers at one of its addresses, or the DNS does not answer. */
const hostProblem = async (resolver: Resolver, host: string, port: number): Promise<string | null> => {
  const addresses = await known(resolver.addresses(host));
  if (addresses === null) return null;
  if (addresses.length === 0) return `${host} has no DNS address`;
  const tried = await Promise.all(
    addresses.map(({ address, family }) => trySmarthost(`smtp://${family === 6 ? `[${address}]` : address}:${port}`)),
  );
  return tried.some(({ works }) => works)
    ? null
    : `${host} does not answer on port ${port} (as seen from this machine)`;
};

/** Whether bounces and complaints reach BOUNCE_DOMAIN. */
const returnProblems = async (
  resolver: Resolver,
  { bounceDomain }: MailSettings,
  { mxPort: port = SMTP_PORT }: Pick<Config, 'mxPort'>,
): Promise<readonly string[]> => {
  if (bounceDomain === null) return [];
  const lost = 'bounces and complaints are lost';
  const hosts = await bounceHosts(resolver, bounceDomain);
  if (hosts === null)
    return [`DNS did not answer for BOUNCE_DOMAIN ${bounceDomain}: bounces and complaints may be lost`];
  if (hosts.length === 0) return [`BOUNCE_DOMAIN ${bounceDomain} has a null MX: ${lost}`];
  const problems = await Promise.all(hosts.map((host) => hostProblem(resolver, host, port)));
  // One working host is enough.
  if (problems.includes(null)) return [];
  return [
    `BOUNCE_DOMAIN ${bounceDomain}: ${problems.join(', ')}: ${lost}. Publish an MX record that points to this service`,
  ];
};

const directProblems = async (resolver: Resolver, { ehloName }: MailSettings): Promise<readonly string[]> => {
  if (ehloName === null)
    return [
      "EHLO_NAME is not set: many servers reject mail from a server without a public name. Set it to this machine's host name",
    ];
  if ((await known(resolver.addresses(ehloName)))?.length !== 0) return [];
  return [
    `EHLO_NAME ${ehloName} has no DNS address: many servers reject mail from a name that they cannot resolve. Publish an A record`,
  ];
};

/** @param mail as the last started service noted it; undefined: none has started. */
export const mailProblems = async (
  { resolver }: Pick<CommandContext, 'resolver'>,
  mail: MailSettings | undefined,
  config: Pick<Config, 'mxPort'>,
): Promise<readonly string[]> => {
  if (mail === undefined) return ['MAIL_URL is unknown: start the service once'];
  if (mail.kind === 'capture') return ['MAIL_URL is capture: mail is stored and never sent'];
  return [
    ...(mail.publicUrl === null
      ? ['PUBLIC_URL is not set: links in mail use the address that the API listens on']
      : []),
    ...(mail.kind === 'direct' ? await directProblems(resolver, mail) : []),
    ...(await returnProblems(resolver, mail, config)),
  ];
};

/** Each check is a session with the smarthost. Shorter annoys it, longer is late to say that it refuses. */
const CHECK_EVERY_MS = 60_000;

type MailHealth = Awaited<ReturnType<HealthParts['mail']>>;

const check = async (config: Config, { context, system }: Engines): Promise<MailHealth> => {
  const { mail, bounceDomain = null, ehloName = null, publicUrl = null } = config;
  const at = system.now().toISOString();
  if (mail.kind === 'capture') return { facts: { kind: mail.kind, smarthost: null, checked_at: at }, problems: [] };
  const tried = mail.kind === 'smarthost' ? await trySmarthost(mail.url, config.ehloName) : undefined;
  const problems = await mailProblems(context, { kind: mail.kind, bounceDomain, ehloName, publicUrl }, config);
  const smarthost = tried === undefined ? null : tried.works ? 'works' : 'refuses';
  return {
    facts: { kind: mail.kind, smarthost, checked_at: at },
    problems: tried?.works === false ? [tried.sentence, ...problems] : problems,
  };
};

/** The smarthost and the names in the DNS. What was found is answered again for a minute, and while the next check runs. */
export const mailHealth = ({
  config,
  engines,
}: {
  readonly config: Config;
  readonly engines: Engines;
}): HealthParts['mail'] => {
  let checking: Promise<MailHealth> | undefined;
  let last: MailHealth | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;

  const checkNow = async (): Promise<MailHealth> => {
    nextMs = engines.system.monotonicMs() + CHECK_EVERY_MS;
    last = await check(config, engines);
    return last;
  };

  return async () => {
    if (checking === undefined && engines.system.monotonicMs() >= nextMs) {
      checking = checkNow().finally(() => {
        checking = undefined;
      });
      checking.catch(() => undefined); // who waits for it is told
    }
    if (last !== undefined) return last;
    if (checking === undefined) throw new Error('the last check failed');
    return checking;
  };
};
