import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { createdKeySchema, rotatedKeySchema } from '../../http/resources/api-keys/api-keys.ts';
import type { SerializedSession } from '../../http/resources/members/members.ts';
import {
  type Invocation,
  optional,
  optionalCount,
  type PlainCommand,
  repeated,
  required,
  type ServiceCommand,
} from '../command.ts';
import { CommandFailed, EXIT, readStdin, type Terminal, UsageError } from '../terminal.ts';
import {
  profileName,
  profilePath,
  readProfile,
  removeProfile,
  serviceUrl,
  type Target,
  writeProfile,
} from './profile.ts';
import { nameIn } from './resource-commands.ts';
import { chosenDomain } from './resources.ts';
import { createService, type Service } from './service.ts';

/**
 * Commands for the keys of the caller's organization, through the API. The operator commands with these names take
 * `--organization`.
 */

type CreatedKey = z.infer<typeof createdKeySchema>;
type RotatedKey = z.infer<typeof rotatedKeySchema>;

const limitsOf = (invocation: Invocation): Readonly<Record<string, number>> | undefined => {
  const given = ['send', 'read', 'manage'].flatMap((kind) => {
    const limit = optionalCount(invocation, kind);
    return limit === undefined ? [] : [[kind, limit] as const];
  });
  return given.length === 0 ? undefined : Object.fromEntries(given);
};

const listIn = (text: string): readonly string[] => text.split(',').map((each) => each.trim());

export const createOwnKeyCommand: ServiceCommand = {
  name: 'keys create',
  usage:
    '--name NAME --permissions send,read [--domain DOMAIN] [--environment live|test] [--cidr NETWORK,…] [--expires-at TIME] [--send N] [--read N] [--manage N]',
  summary: 'creates a key and prints its secret once; --send, --read and --manage set its limits per minute',
  needs: 'service',
  run: async (service, invocation, terminal) => {
    const name = required(invocation, 'name');
    const permissions = listIn(required(invocation, 'permissions'));
    const domain = await chosenDomain(service, invocation, terminal);
    const given = {
      name,
      domain_id: domain.id,
      permissions,
      environment: optional(invocation, 'environment'),
      allowed_cidrs: repeated(invocation, 'cidr')?.flatMap(listIn),
      expires_at: optional(invocation, 'expires-at'),
      rate_limits: limitsOf(invocation),
    };
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return { ...(await service.ask<CreatedKey>('POST', '/v1/api-keys', { body })).body, domain: domain.name };
  },
  textOf: (result) => {
    const { id, name, domain, permissions, environment, key } = result as unknown as CreatedKey & { domain: string };
    return `id: ${id}\nname: ${name}\ndomain: ${domain}\npermissions: ${permissions.join(', ')}\nenvironment: ${environment}\nkey: ${key}\nSave the key now: it is not shown again.`;
  },
};

const graceOf = (invocation: Invocation): number | undefined =>
  optional(invocation, 'grace-minutes') === '0' ? 0 : optionalCount(invocation, 'grace-minutes');

/**
 * True if the key is the one stored in the profile. Check this before rotating it: afterwards the old value may be
 * invalid.
 */
const isKept = async ({ ask, target: { key, profile } }: Service, id: string): Promise<boolean> =>
  profile !== null && key !== undefined && (await ask<SerializedSession>('GET', '/v1/session')).body.api_key_id === id;

/** Stores the new value in the profile. @returns a sentence that says what was done. */
const keepOwn = async ({ target: { profile } }: Service, key: string): Promise<string | null> => {
  const kept = profile === null ? null : await readProfile(profile);
  if (profile === null || kept === null) return null;
  await writeProfile(profile, { ...kept, key });
  return `profile ${profile} now has the new secret`;
};

export const rotateOwnKeyCommand: ServiceCommand = {
  name: 'keys rotate',
  usage: 'KEY_ID [--grace-minutes N] [--revoke-previous]',
  summary: 'gives a key a new secret and prints it once; the old one works until the grace period ends',
  needs: 'service',
  run: async (service, invocation) => {
    const minutes = graceOf(invocation);
    const id = nameIn(invocation, 'key: KEY_ID');
    const isOwn = await isKept(service, id);
    const { body } = await service.ask<RotatedKey>('POST', `/v1/api-keys/${id}/rotate`, {
      body: {
        ...(minutes === undefined ? {} : { grace_period_minutes: minutes }),
        revoke_previous: invocation.values['revoke-previous'] === true,
      },
    });
    // Prints the new value even if storing it fails: it cannot be read again.
    const kept = isOwn
      ? await keepOwn(service, body.key).catch(
          (error: Error) => `the profile still has the old secret: ${error.message}`,
        )
      : null;
    return { ...body, kept };
  },
  textOf: (result) => {
    const { id, name, key, previous_key_expires_at: until, kept } = result as unknown as RotatedKey & { kept: unknown };
    return [
      `id: ${id}`,
      `name: ${name}`,
      `key: ${key}`,
      `The old secret works until ${until}. Save the new one now: it is not shown again.`,
      ...(typeof kept === 'string' ? [kept] : []),
    ].join('\n');
  },
};

/**
 * Signs in with an API key or as a member. Keys and links are never command-line arguments, which would appear in the
 * shell history and the process list. They are typed without echo or read from standard input.
 */

const NONCE_BYTES = 32;
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

interface Who {
  readonly organization: string;
  readonly as: string;
  readonly permissions: string;
  readonly environment: string;
}

/** @throws {ServiceRefused} if the key is invalid. */
const whoAsks = async ({ ask }: Pick<Service, 'ask'>): Promise<Who> => {
  const { body } = await ask<SerializedSession>('GET', '/v1/session');
  return {
    organization: body.organization.name,
    as: body.member === null ? `key ${body.api_key_id}` : `${body.member.name} (${body.member.role})`,
    permissions: body.permissions.join(', '),
    environment: body.environment,
  };
};

const warnOfPlainHttp = (url: string, { note }: Terminal): void => {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !LOOPBACK.has(hostname))
    note(`${url} does not use HTTPS: others on the network can read your credentials`);
};

const urlFor = async (invocation: Invocation, terminal: Terminal): Promise<string> => {
  const given = optional(invocation, 'url') ?? process.env.OUTBOX_URL ?? '';
  if (given !== '') return serviceUrl(given, '--url');
  const typed = await terminal.ask('URL of the service:', { otherwise: 'pass --url' });
  return serviceUrl(typed, 'the URL');
};

/** Reads standard input with `--stdin`, or else prompts. */
const secretFor = async (invocation: Invocation, terminal: Terminal, question: string): Promise<string> => {
  const text =
    invocation.values.stdin === true
      ? (await readStdin()).toString('utf8').trim()
      : await terminal.ask(question, { hidden: true, otherwise: 'pipe it in with --stdin' });
  if (text === '') throw new UsageError('standard input is empty');
  if (/\s/.test(text)) throw new UsageError('expected one word without spaces');
  return text;
};

const KEY = /^ob_(?:live|test)_\S+$/;

const withKey = async (invocation: Invocation, terminal: Terminal): Promise<Pick<Target, 'key'>> => {
  const key = await secretFor(invocation, terminal, 'API key (not shown as you type):');
  if (!KEY.test(key)) throw new UsageError('an API key begins with ob_live_ or ob_test_');
  return { key };
};

const MAILED =
  'If this address belongs to a member, a sign-in link has been mailed. It works once, for a few minutes. Paste the link (not shown as you type):';

/** @returns the session cookie. @throws {CommandFailed} if the link is invalid or has been used. */
const withLink = async (service: Service, invocation: Invocation, terminal: Terminal): Promise<string> => {
  const email = optional(invocation, 'email');
  if (email !== undefined) await service.ask('POST', '/v1/session/links', { body: { email } });
  const link = await secretFor(invocation, terminal, email === undefined ? 'Link (not shown as you type):' : MAILED);
  const token = link.slice(link.indexOf('#') + 1);
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const { headers } = await service.ask('POST', '/v1/session', { body: { token, nonce } });
  const [cookie = ''] = (headers.getSetCookie()[0] ?? '').split(';');
  if (cookie === '') throw new CommandFailed('the service did not start a session', EXIT.unavailable);
  return cookie;
};

const environmentOf = (invocation: Invocation): 'live' | 'test' => {
  const given = optional(invocation, 'environment') ?? 'live';
  if (given === 'live' || given === 'test') return given;
  throw new UsageError('--environment must be live or test');
};

const isMember = ({ values }: Invocation): boolean => values.member === true || values.email !== undefined;

export const loginCommand: PlainCommand = {
  name: 'login',
  usage: '[--url URL] [--stdin] [--member] [--email ADDRESS] [--environment live|test] [--profile NAME]',
  summary:
    "saves a service's URL and your API key, read from a prompt or from standard input; --member uses a sign-in link instead, --email requests one by mail",
  needs: 'nothing',
  endsBySignal: true,
  run: async (invocation, terminal) => {
    const name = profileName(optional(invocation, 'profile'));
    const url = await urlFor(invocation, terminal);
    warnOfPlainHttp(url, terminal);
    const open = (more: Omit<Target, 'url' | 'profile'>): Service =>
      createService({ target: { url, profile: name, ...more }, signal: terminal.signal, note: terminal.note });
    // Requests of a browser name their origin, so these do too.
    const kept = isMember(invocation)
      ? {
          session: await withLink(open({ session: '' }), invocation, terminal),
          environment: environmentOf(invocation),
        }
      : await withKey(invocation, terminal);
    const who = await whoAsks(open(kept));
    await writeProfile(name, { url, ...kept });
    return { ...who, url, profile: name, kept_in: profilePath(name) };
  },
};

export const logoutCommand: PlainCommand = {
  name: 'logout',
  usage: '[--profile NAME]',
  summary: "deletes the saved credentials and ends a member's session; an API key works until it is revoked",
  needs: 'nothing',
  run: async (invocation, terminal) => {
    const name = profileName(optional(invocation, 'profile'));
    const kept = await readProfile(name).catch(() => null);
    if (kept?.session !== undefined) {
      const service = createService({ target: { ...kept, profile: name }, signal: terminal.signal });
      // The profile is removed even if the session has already ended or the service is unreachable.
      await service.ask('DELETE', '/v1/session').catch((error: Error) => terminal.note(error.message));
    }
    return { profile: name, removed: await removeProfile(name) };
  },
};

export const whoamiCommand: ServiceCommand = {
  name: 'whoami',
  usage: '',
  summary: 'shows which service you use and who you are signed in as',
  needs: 'service',
  run: async (service) => {
    const { url, profile } = service.target;
    return { ...(await whoAsks(service)), url, profile: profile ?? 'from the environment' };
  },
};
