import type { z } from 'zod';
import { analysisShape, findingShape } from '../schemas/analysis.ts';
import { apiKeyShape, createdKeyShape, rotatedKeyShape } from '../schemas/api-key.ts';
import { batchShape } from '../schemas/batch.ts';
import { billingShape, usageShape } from '../schemas/billing.ts';
import { domainShape } from '../schemas/domain.ts';
import { errorShape } from '../schemas/error.ts';
import { EVENT_SHAPES, eventShape } from '../schemas/event.ts';
import { capturedMailShape } from '../schemas/inbox.ts';
import { keyHistoryEntryShape } from '../schemas/key-history.ts';
import { listedMessageShape, messageContentShape, messageShape, sentMessageShape } from '../schemas/message.ts';
import { pageShape } from '../schemas/page.ts';
import { statsShape } from '../schemas/stats.ts';
import { suppressionShape } from '../schemas/suppression.ts';
import { createdWebhookShape, webhookDeliveryShape, webhookShape } from '../schemas/webhook.ts';

/** What clients have a type for. Bodies that are not here are named after their operation: `ListMessagesAnswer`. */
export const NAMED_SHAPES: Readonly<Record<string, z.ZodType>> = {
  ApiKey: apiKeyShape,
  CreatedApiKey: createdKeyShape,
  RotatedApiKey: rotatedKeyShape,
  ApiKeyHistoryEntry: keyHistoryEntryShape,
  Billing: billingShape,
  Usage: usageShape,
  Domain: domainShape,
  Error: errorShape,
  Event: eventShape,
  ...EVENT_SHAPES,
  CapturedMail: capturedMailShape,
  ListedMessage: listedMessageShape,
  MessageContent: messageContentShape,
  Message: messageShape,
  SentMessage: sentMessageShape,
  Batch: batchShape,
  Analysis: analysisShape,
  Finding: findingShape,
  Page: pageShape,
  Stats: statsShape,
  Suppression: suppressionShape,
  CreatedWebhook: createdWebhookShape,
  WebhookDelivery: webhookDeliveryShape,
  Webhook: webhookShape,
};
