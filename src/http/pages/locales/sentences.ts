/** Sentences of the pages for recipients. A language that lacks one does not compile. */
export interface Sentences {
  readonly unsubscribeTitle: string;
  readonly unsubscribeQuestion: string;
  readonly leaveTopicQuestion: string;
  readonly unsubscribe: string;
  readonly leaveTopic: string;
  readonly unsubscribeFromAll: string;
  readonly unsubscribedTitle: string;
  readonly unsubscribed: string;
  readonly leftTopic: string;
  readonly resubscribe: string;
  readonly resubscribedTitle: string;
  readonly resubscribed: string;
  readonly keptBack: string;
  readonly choose: string;
  readonly preferencesTitle: string;
  readonly preferencesLegend: string;
  readonly preferencesPaused: string;
  readonly noTopics: string;
  readonly save: string;
  readonly saved: string;
  readonly goneTitle: string;
  readonly gone: string;
  readonly malformedTitle: string;
  readonly malformed: string;
  readonly laterTitle: string;
  readonly later: string;
  readonly notFoundTitle: string;
  readonly notFound: string;
  readonly tooManyTitle: string;
  readonly tooMany: string;
  readonly faultTitle: string;
  readonly fault: string;
}
