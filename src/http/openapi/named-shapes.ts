import type { z } from 'zod';
import { analysisShape, findingShape } from '../shapes/analysis-shape.ts';
import { apiKeyShape, createdKeyShape, rotatedKeyShape } from '../shapes/api-key-shape.ts';
import { batchShape } from '../shapes/batch-shape.ts';
import { billingShape, usageShape } from '../shapes/billing-shape.ts';
import { domainShape } from '../shapes/domain-shape.ts';
import { errorShape } from '../shapes/error-shape.ts';
import { EVENT_SHAPES, eventShape } from '../shapes/event-shape.ts';
import { capturedMailShape } from '../shapes/inbox-shape.ts';
import { keyHistoryEntryShape } from '../shapes/key-history-shape.ts';
import { listedMessageShape, messageContentShape, messageShape, sentMessageShape } from '../shapes/message-shape.ts';
import { pageShape } from '../shapes/page-shape.ts';
import { statsShape } from '../shapes/stats-shape.ts';
import { suppressionShape } from '../shapes/suppression-shape.ts';
import { createdWebhookShape, webhookDeliveryShape, webhookShape } from '../shapes/webhook-shape.ts';

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
