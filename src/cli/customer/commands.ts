import type { Command } from '../command.ts';
import { importCommand } from '../import/command.ts';
import { mcpCommand } from '../mcp/command.ts';
import { diffTemplatesCommand, pullTemplatesCommand, pushTemplatesCommand } from '../templates/commands.ts';
import { listenCommand, listenInboundCommand } from './listen.ts';
import { createOwnKeyCommand, loginCommand, logoutCommand, rotateOwnKeyCommand, whoamiCommand } from './login.ts';
import {
  explainMessageCommand,
  listMessagesCommand,
  resendMessageCommand,
  sendCommand,
  showMessageCommand,
  tailEventsCommand,
  tailMessagesCommand,
} from './messages.ts';
import { RESOURCE_COMMANDS } from './resources.ts';
import { statsCommand } from './stats.ts';

/** Commands for customers. None of them loads modules that only the service needs. */
export const CUSTOMER_COMMANDS: readonly Command[] = [
  loginCommand,
  logoutCommand,
  whoamiCommand,
  sendCommand,
  listMessagesCommand,
  showMessageCommand,
  explainMessageCommand,
  resendMessageCommand,
  tailMessagesCommand,
  tailEventsCommand,
  listenCommand,
  listenInboundCommand,
  pullTemplatesCommand,
  pushTemplatesCommand,
  diffTemplatesCommand,
  importCommand,
  createOwnKeyCommand,
  rotateOwnKeyCommand,
  statsCommand,
  ...RESOURCE_COMMANDS,
  mcpCommand,
];
