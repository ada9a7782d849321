import { resolve } from 'node:path';
import { isLoopback, parseSmarthost } from '../adapters/mail/smarthost/smarthost.ts';
import { type Config, readConfig } from '../config.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { readTls, TLS_PORT_NEEDS_FILES } from './tls-files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const refusalOf = (error: unknown): string => {
  if (error instanceof StartRefused) return error.message;
  throw error;
};

type Given = (name: string) => string | undefined;

const givenIn =
  (environment: Environment): Given =>
  (name) =>
    environment[name]?.trim() || undefined;

/** Whether a process of these roles uses the files: where it does not, it may not have them. */
const isUsed = (given: Given): boolean => {
  const roles = given('ROLES') ?? 'api,workers';
  const isSubmittedTo = given('SUBMISSION_PORT') !== undefined || given('SUBMISSION_TLS_PORT') !== undefined;
  return (
    (roles.includes('api') && isSubmittedTo) || (roles.includes('workers') && given('BOUNCE_DOMAIN') !== undefined)
  );
};

/** Half a pair is told by whoever reads the variables. */
const tlsProblem = async (environment: Environment): Promise<string | undefined> => {
  const given = givenIn(environment);
  if (!isUsed(given)) return undefined;
  const [cert, key] = [given('TLS_CERT_FILE'), given('TLS_KEY_FILE')];
  if (cert === undefined && key === undefined) return given('SUBMISSION_TLS_PORT') && TLS_PORT_NEEDS_FILES;
  if (cert === undefined || key === undefined) return undefined;
  return readTls({ cert: resolve(cert), key: resolve(key) }).then(() => undefined, refusalOf);
};

const isUnspecified = (host: string): boolean => host === '0.0.0.0' || /^[0:]+$/.test(host);

/**
 * Links in mail begin with PUBLIC_URL or, without it, with where the API listens: of use only to who can connect to that.
 * `HOST` of this machine alone will do for a mail catcher on the same machine, and for tests with private mail servers.
 */
const linkProblem = ({ mail, host, publicUrl, roles, allowPrivateMx }: Config): string | undefined => {
  if (publicUrl !== undefined || mail.kind === 'capture' || !(roles.has('api') || roles.has('workers')))
    return undefined;
  const staysHere = mail.kind === 'smarthost' ? isLoopback(parseSmarthost(mail.url).host) : allowPrivateMx;
  if (!isUnspecified(host) && !(isLoopback(host) && !staysHere)) return undefined;
  return `PUBLIC_URL: links in mail would lead to http://${host}, where recipients reach nothing: set the address of the API as they see it, such as \`https://mail.example.com\``;
};

/** The refusal, if it is one. */
const attempt = (environment: Environment): Config | string => {
  try {
    return readConfig(environment);
  } catch (error) {
    return refusalOf(error);
  }
};

/**
 * The configuration of a service, with what its files hold. The operator's commands use none of them, and may not be let
 * to read them.
 * @throws {StartRefused} all problems at once, a line for each.
 */
export const readServiceConfig = async (environment: Environment): Promise<Config> => {
  const config = attempt(environment);
  const ofLinks = typeof config === 'string' ? undefined : linkProblem(config);
  const inFiles = await tlsProblem(environment);
  if (typeof config !== 'string' && ofLinks === undefined && inFiles === undefined) return config;
  const problems = [config, ofLinks, inFiles].filter((problem) => typeof problem === 'string');
  throw new StartRefused(problems.join('\n'));
};
