import { z } from 'zod';

/** The content is in the vault under `contentId`. The digest later proves which content it was. */
const content = { contentId: z.string(), contentDigest: z.string() };

export const templateEvents = {
  TemplateCreated: z.object({
    templateId: z.string(),
    alias: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    ...content,
  }),
  TemplateDraftChanged: z.object({
    templateId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    ...content,
  }),
  /** Version n + 1, immutable. Its content is the compiled draft, with its layout as of publication. */
  TemplatePublished: z.object({ templateId: z.string(), version: z.number().int().min(1), ...content }),
  TemplateRolledBack: z.object({ templateId: z.string(), version: z.number().int().min(1) }),
  TemplateDeleted: z.object({ templateId: z.string() }),
};
