import { createSystem } from '../adapters/system.ts';
import { createKey } from '../commands/api-key/create-key.ts';
import { readDirectory } from '../composition/directory.ts';
import { formatSecret, SECRET_RANDOM_BYTES } from '../domain/api-key/secret.ts';
import { type OperatorCommand, type PlainCommand, requireAll, required } from './command.ts';
import {
  cidrsOf,
  environmentOf,
  expiresAtOf,
  limitOptions,
  limitsOf,
  nameOf,
  permissionsOf,
  shownKey,
} from './key-options.ts';
import { operatorOrigin } from './operator-origin.ts';

export const generateKeyCommand: PlainCommand = {
  name: 'keys generate',
  usage: '[--environment live|test]',
  summary: 'prints a well-formed key value, for OUTBOX_ADMIN_KEY; nothing knows it yet',
  options: { environment: { type: 'string' } },
  needs: 'nothing',
  run: (invocation) => ({
    key: formatSecret(environmentOf(invocation), createSystem().randomBytes(SECRET_RANDOM_BYTES)),
  }),
};

export const createKeyCommand: OperatorCommand = {
  name: 'keys create',
  usage:
    '--organization ORG_ID --domain DOM_ID --permissions send,read [--name NAME] [--environment live|test] [--cidr NETWORK,…] [--expires-at TIME] [--send N] [--read N] [--manage N]',
  summary: 'makes a key and shows its value once; the numbers are its limits a minute',
  options: {
    ...{ organization: { type: 'string' }, domain: { type: 'string' }, permissions: { type: 'string' } },
    ...{ name: { type: 'string' }, environment: { type: 'string' }, ...limitOptions },
    ...{ cidr: { type: 'string', multiple: true }, 'expires-at': { type: 'string' } },
  },
  needs: 'engines',
  run: async ({ context, system }, invocation) => {
    requireAll(invocation, ['organization', 'domain', 'permissions']);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { key, value } = await createKey(context, origin, {
      by: 'operator',
      domainId: required(invocation, 'domain'),
      name: nameOf(invocation) ?? 'made by the operator',
      permissions: permissionsOf(invocation) ?? [],
      environment: environmentOf(invocation),
      rateLimits: limitsOf(invocation),
      allowedCidrs: cidrsOf(invocation) ?? [],
      expiresAt: expiresAtOf(invocation, system.now().toISOString()) ?? null,
    });
    return { ...shownKey(key, await readDirectory(context)), status: key.status, key: value };
  },
};
