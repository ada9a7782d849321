import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { isLoopback, parseSmarthost } from '../adapters/mail/smarthost.ts';
import { type Config, readConfig, type TlsFiles } from '../config.ts';
import { type Issuer, issuerSchema } from '../domain/billing/parties.ts';
import { BUILT_IN_PLANS, type Plan, type Plans, planSchema } from '../domain/billing/plan.ts';
import { sentencesIn } from '../http/problems.ts';
import { type Logger, StartRefused } from '../lib/async/async.ts';
import type { TlsPair } from '../lib/smtp/smtp.ts';
import {
  MalformedPolicy,
  NO_POLICY,
  type Policy,
  parsePolicy,
  type VerifierKey,
} from '../lib/transparency/transparency.ts';
import type { Witness } from '../workers/audit/ask-witnesses.ts';
import { baseUrlOf } from './lifecycle.ts';

/** Delay until a renewed certificate is used. Shorter: two small files are read more often than needed. */
const RENEWAL_CHECK_MS = 60_000;

export const TLS_PORT_NEEDS_FILES = 'SUBMISSION_TLS_PORT needs TLS_CERT_FILE and TLS_KEY_FILE: set them, or unset it';

/** @throws {StartRefused} a file cannot be read, or certificate and key do not match. */
export const readTls = async (
  files: TlsFiles | undefined,
  variables = 'TLS_CERT_FILE and TLS_KEY_FILE',
): Promise<TlsPair | undefined> => {
  if (files === undefined) return undefined;
  try {
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new StartRefused(
      `cannot use ${variables}: ${(error as Error).message}: set a certificate and its key in PEM`,
    );
  }
};

interface FollowRenewals {
  readonly tlsFiles: TlsFiles | undefined;
  /** Names of the variables, as in `readTls`. */
  readonly variables?: string;
  readonly logger: Logger;
}

/**
 * Uses a renewed certificate once its files are valid. Until then it keeps the previous one, and logs why when two looks
 * in a row find the same problem.
 * @returns stops watching.
 */
export const followRenewals = (
  { tlsFiles, variables, logger }: FollowRenewals,
  use: (tls: TlsPair) => void,
  everyMs = RENEWAL_CHECK_MS,
): (() => void) => {
  if (tlsFiles === undefined) return () => undefined;
  let known = '';
  let problem = '';
  let isLooking = false;
  const reject = (err: Error): void => {
    // Seen once: the files may have been read while they were written.
    if (err.message === problem && known !== problem) {
      known = problem;
      logger.error({ err }, 'cannot reload the TLS certificate: keeping the previous one');
    }
    problem = err.message;
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const tls = await readTls(tlsFiles, variables);
      problem = '';
      if (tls === undefined || known === tls.cert + tls.key) return;
      use(tls);
      known = tls.cert + tls.key;
    } catch (error) {
      reject(error as Error);
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), everyMs).unref();
  return () => clearInterval(timer);
};

const PLANS_MAX = 100;

const { overagePer1000, hardLimit, ...fields } = planSchema.shape;

const filePlan = z
  .strictObject({
    ...fields,
    overage_per_1000: overagePer1000,
    hard_limit: hardLimit.default(null),
    /** Whether organizations can choose it themselves. */
    offered: z.boolean().default(true),
  })
  .transform(({ overage_per_1000: rate, hard_limit: limit, offered, ...plan }) => {
    const terms: Plan = { ...plan, overagePer1000: rate, hardLimit: limit };
    return { terms, offered };
  });

const { taxId: issuerTaxId, numberPrefix, ...issuerFields } = issuerSchema.shape;

const fileIssuer = z
  .strictObject({ ...issuerFields, tax_id: issuerTaxId, number_prefix: numberPrefix })
  .transform(
    ({ tax_id: id, number_prefix: prefix, ...issuer }): Issuer => ({ ...issuer, taxId: id, numberPrefix: prefix }),
  );

const plansFile = z
  .strictObject({
    /** Id of one of the plans. Absent: the built-in one. */
    default: z.string().optional(),
    plans: z.array(filePlan).min(1).max(PLANS_MAX),
    /** Absent: invoices are usage statements. */
    issuer: fileIssuer.optional(),
  })
  .superRefine((file, context) => {
    const ids = file.plans.map(({ terms: { id } }) => id);
    for (const [index, id] of ids.entries()) {
      const path = ['plans', index, 'id'];
      if (ids.indexOf(id) < index)
        context.addIssue({ code: 'custom', path, message: `is ${id}, which is the id of another plan too` });
    }
    if (file.default !== undefined && !ids.includes(file.default)) {
      context.addIssue({ code: 'custom', path: ['default'], message: `is ${file.default}, but no plan has this id` });
    }
  })
  .transform(
    ({ default: id, plans, issuer }): Plans => ({
      default: plans.find(({ terms }) => terms.id === id)?.terms ?? BUILT_IN_PLANS.default,
      offered: plans.filter(({ offered }) => offered).map(({ terms }) => terms),
      others: plans.filter(({ offered }) => !offered).map(({ terms }) => terms),
      issuer,
    }),
  );

/** `plans[0].price` of its parts. */
const nameOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');

const parsed = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new StartRefused(`PLANS_FILE: ${path} cannot be read: ${(error as Error).message}: name a JSON file`);
  }
};

/** Sentences such as `plans[1].price must be a whole number, in the smallest unit of the currency (cents)`. */
const planProblems = (issue: z.core.$ZodIssue, file: unknown): readonly string[] => {
  const name = nameOf(issue.path);
  if (name === '' && issue.code === 'invalid_type') return ['the file must contain a JSON object with a list of plans'];
  if (issue.code === 'invalid_format') return [`${name} ${issue.message}`];
  if (name.endsWith('.price') && issue.code === 'invalid_type' && issue.expected === 'int')
    return [`${name} must be a whole number, in the smallest unit of the currency (cents)`];
  return sentencesIn([issue], file);
};

/** Reads the plans that organizations can have. @throws {StartRefused} with all problems of the file, one per line. */
export const readPlans = async (path: string | undefined): Promise<Plans> => {
  if (path === undefined) return BUILT_IN_PLANS;
  const file = await parsed(path);
  const { data, error } = plansFile.safeParse(file);
  if (error === undefined) return data;
  const problems = error.issues.flatMap((issue) => planProblems(issue, file));
  throw new StartRefused(problems.map((problem) => `PLANS_FILE: ${problem}`).join('\n'));
};

/** The witnesses of a policy that have a URL. */
export const askedWitnesses = ({ witnesses, urls }: Policy): readonly Witness[] =>
  [...urls].map(([name, url]) => ({ name, key: witnesses.get(name) as VerifierKey, url: url.replace(/\/+$/, '') }));

/** Which witnesses cosign, and how many of them must, by a tlog-policy file. @throws {StartRefused} */
export const readWitnessPolicy = async (path: string | undefined): Promise<Policy> => {
  if (path === undefined) return NO_POLICY;
  try {
    const policy = parsePolicy(await readFile(path, 'latin1'));
    for (const [name, url] of policy.urls) {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
        throw new MalformedPolicy(`the URL of ${name} is not http(s)`);
    }
    return policy;
  } catch (error) {
    const { message } = error as Error;
    throw new StartRefused(`AUDIT_WITNESSES: ${path} cannot be read: ${message}: set a C2SP tlog-policy file`);
  }
};

type Environment = Readonly<Record<string, string | undefined>>;

const refusalOf = (error: unknown): string => {
  if (error instanceof StartRefused) return error.message;
  throw error;
};

type ReadVariable = (name: string) => string | undefined;

const givenIn =
  (environment: Environment): ReadVariable =>
  (name) =>
    environment[name]?.trim() || undefined;

/** Whether a process of these roles needs the certificate. Others may not have the files. */
const isUsed = (given: ReadVariable): boolean => {
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

/** Every address of the machine. */
export const isUnspecified = (host: string): boolean => host === '0.0.0.0' || /^[0:]+$/.test(host);

/** True if real mail gets links that begin with the address that the API listens on. */
const writesLinksOfItsOwn = ({ mail, publicUrl, roles }: Config): boolean =>
  publicUrl === undefined && mail.kind !== 'capture' && (roles.has('api') || roles.has('workers'));

/**
 * Warning for a service that starts without PUBLIC_URL although real mail leaves; null: none. It is no error, because a mail
 * server on this machine or a private network may be all that the mail reaches.
 */
export const linkWarning = (config: Config): string | null =>
  writesLinksOfItsOwn(config)
    ? `PUBLIC_URL is not set: links in mail begin with ${baseUrlOf(config, config.port)}, which recipients elsewhere cannot open. Set PUBLIC_URL to the API's public address, such as \`https://mail.example.com\``
    : null;

/**
 * Links in mail begin with PUBLIC_URL or, without it, with the address that the API listens on. A loopback `HOST` is only
 * enough for a mail server on this machine and for tests with private mail servers.
 */
const linkProblem = (config: Config): string | undefined => {
  if (!writesLinksOfItsOwn(config)) return undefined;
  const { mail, host, allowPrivateMx } = config;
  const staysHere = mail.kind === 'smarthost' ? isLoopback(parseSmarthost(mail.url).host) : allowPrivateMx;
  if (!isUnspecified(host) && !(isLoopback(host) && !staysHere)) return undefined;
  return `PUBLIC_URL: links in mail would lead to http://${host}, which recipients cannot reach: set the API's public address, such as \`https://mail.example.com\``;
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
