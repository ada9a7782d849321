import { deleteKeyCommand, revokeKeyCommand, rotateKeyCommand, updateKeyCommand } from './change-keys.ts';
import type { Command } from './command.ts';
import { doctorCommand } from './doctor.ts';
import { createDomainCommand, listDomainsCommand, verifyDomainCommand } from './domains.ts';
import { createKeyCommand, generateKeyCommand } from './keys.ts';
import { listKeysCommand } from './list-keys.ts';
import { copyLogCommand } from './log-copy.ts';
import { createOrganizationCommand, listOrganizationsCommand, setCeilingsCommand } from './organizations.ts';
import { listProjectionsCommand, rebuildProjectionCommand, retryParkedCommand } from './projections.ts';
import { reencryptCommand } from './reencrypt.ts';

/** Every operator's command. */
export const COMMANDS: readonly Command[] = [
  createOrganizationCommand,
  setCeilingsCommand,
  listOrganizationsCommand,
  createDomainCommand,
  verifyDomainCommand,
  listDomainsCommand,
  generateKeyCommand,
  createKeyCommand,
  rotateKeyCommand,
  updateKeyCommand,
  revokeKeyCommand,
  deleteKeyCommand,
  listKeysCommand,
  listProjectionsCommand,
  rebuildProjectionCommand,
  retryParkedCommand,
  copyLogCommand,
  reencryptCommand,
  doctorCommand,
];
