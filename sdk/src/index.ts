export * from './api/resources.ts';
export type * from './api/schemas.ts';
export {
  type Call,
  type ChangeOptions,
  type Configuration,
  createCall,
  type Operation,
  type RequestOptions,
  responseOf,
  type SendOptions,
} from './call.ts';
export * from './errors.ts';
export { type StreamedEvent, type StreamOptions, type StreamQuery, streamEvents } from './event-stream.ts';
export type { List } from './list.ts';
export type { Attachment, SendBatch, SendMessage } from './message-body.ts';
export { createOutbox, type Outbox } from './outbox.ts';
export { type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from './webhooks.ts';
