/** PORT: structured logging (pino's shape). Never a secret, an address or a body. */
export interface Logger {
  debug(fields: object, sentence: string): void;
  info(fields: object, sentence: string): void;
  warn(fields: object, sentence: string): void;
  error(fields: object, sentence: string): void;
}
