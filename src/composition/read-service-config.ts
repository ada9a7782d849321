import { resolve } from 'node:path';
import { isLoopback, parseSmarthost } from '../adapters/mail/smarthost/smarthost.ts';
import { type Config, readConfig } from '../config.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { readPlans } from './read-plans.ts';
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

/** Whether a process of these roles needs the certificate. Others may not have the files. */
const isUsed = (given: Given): boolean => {
  const roles = given('ROLES') ?? 'api,workers';
  const isSubmittedTo = given('SUBMISSION_PORT') !== undefined || given('SUBMISSION_TLS_PORT') !== undefined;
  return (
    (roles.includes('api') && isSubmittedTo) || (roles.includes('workers') && given('BOUNCE_DOMAIN') !== undefined)
  );
};

/** An incomplete pair is reported by `readConfig`. */
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
 * Links in mail begin with PUBLIC_URL or, without it, with the address that the API listens on. A loopback `HOST` is only
 * enough for a mail server on this machine and for tests with private mail servers.
 */
const linkProblem = ({ mail, host, publicUrl, roles, allowPrivateMx }: Config): string | undefined => {
  if (publicUrl !== undefined || mail.kind === 'capture' || !(roles.has('api') || roles.has('workers')))
    return undefined;
  const staysHere = mail.kind === 'smarthost' ? isLoopback(parseSmarthost(mail.url).host) : allowPrivateMx;
  if (!isUnspecified(host) && !(isLoopback(host) && !staysHere)) return undefined;
  return `PUBLIC_URL: links in mail would lead to http://${host}, where recipients reach nothing: set the address of the API as they see it, such as \`https://mail.example.com\``;
};

/** @returns the configuration, or its problems. */
const attempt = (environment: Environment): Config | string => {
  try {
    return readConfig(environment);
  } catch (error) {
    return refusalOf(error);
  }
};

/**
 * The configuration of a service, with its certificate and plans files checked. The operator's commands do not use these files and
 * may not be allowed to read them.
 * @throws {StartRefused} with all problems, one per line.
 */
export const readServiceConfig = async (environment: Environment): Promise<Config> => {
  const config = attempt(environment);
  const ofLinks = typeof config === 'string' ? undefined : linkProblem(config);
  const inFiles = await tlsProblem(environment);
  const inPlans = await readPlans(givenIn(environment)('PLANS_FILE')).then(() => undefined, refusalOf);
  if (typeof config !== 'string' && !ofLinks && !inFiles && !inPlans) return config;
  const problems = [config, ofLinks, inFiles, inPlans].filter((problem) => typeof problem === 'string');
  throw new StartRefused(problems.join('\n'));
};
