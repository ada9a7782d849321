import type { Command } from './command.ts';
import { doctorCommand } from './doctor.ts';
import { createDomainCommand, listDomainsCommand, verifyDomainCommand } from './domains.ts';
import { createKeyCommand, generateKeyCommand, listKeysCommand, revokeKeyCommand, rotateKeyCommand } from './keys.ts';
import { copyLogCommand } from './log-copy.ts';
import { createOrganizationCommand, listOrganizationsCommand } from './organizations.ts';
import { listProjectionsCommand, rebuildProjectionCommand, retryParkedCommand } from './projections.ts';

/** Every operator's command. */
export const COMMANDS: readonly Command[] = [
  createOrganizationCommand,
  listOrganizationsCommand,
  createDomainCommand,
  verifyDomainCommand,
  listDomainsCommand,
  generateKeyCommand,
  createKeyCommand,
  rotateKeyCommand,
  revokeKeyCommand,
  listKeysCommand,
  listProjectionsCommand,
  rebuildProjectionCommand,
  retryParkedCommand,
  copyLogCommand,
  doctorCommand,
];
