import type { CommandContext } from '../commands/context.ts';
import type { Config } from '../config.ts';
import { type Resolver, ResolverUnavailable } from '../lib/smtp/smtp.ts';
import type { MailSettings } from './open-operator.ts';
import { trySmarthost } from './try-smarthost.ts';

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
  if (addresses.length === 0) return `${host} has no address in the DNS`;
  const tried = await Promise.all(
    addresses.map(({ address, family }) => trySmarthost(`smtp://${family === 6 ? `[${address}]` : address}:${port}`)),
  );
  return tried.some(({ works }) => works) ? null : `${host} does not answer at port ${port} (seen from here)`;
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
    return [`the DNS does not answer for BOUNCE_DOMAIN ${bounceDomain}: bounces and complaints may be lost`];
  if (hosts.length === 0) return [`BOUNCE_DOMAIN ${bounceDomain} has a null MX: ${lost}`];
  const problems = await Promise.all(hosts.map((host) => hostProblem(resolver, host, port)));
  // One working host is enough.
  if (problems.includes(null)) return [];
  return [
    `BOUNCE_DOMAIN ${bounceDomain}: ${problems.join(', ')}: ${lost}. Give it an MX record that names this service`,
  ];
};

const directProblems = async (resolver: Resolver, { ehloName }: MailSettings): Promise<readonly string[]> => {
  if (ehloName === null) return ['EHLO_NAME is not set: many servers refuse mail from a server without a public name'];
  if ((await known(resolver.addresses(ehloName)))?.length !== 0) return [];
  return [
    `EHLO_NAME ${ehloName} has no address in the DNS: many servers refuse mail from a name that they cannot resolve`,
  ];
};

/** @param mail as the last started service noted it; undefined: none has started. */
export const mailProblems = async (
  { resolver }: Pick<CommandContext, 'resolver'>,
  mail: MailSettings | undefined,
  config: Pick<Config, 'mxPort'>,
): Promise<readonly string[]> => {
  if (mail === undefined) return ['MAIL_URL is not known: start the service once'];
  if (mail.kind === 'capture') return ['MAIL_URL is capture: no mail leaves this machine'];
  return [
    ...(mail.publicUrl === null
      ? ['PUBLIC_URL is not set: links in mail use the address that the API listens on']
      : []),
    ...(mail.kind === 'direct' ? await directProblems(resolver, mail) : []),
    ...(await returnProblems(resolver, mail, config)),
  ];
};
