import { type FormPlace, type FormValues, freeName } from './place.ts';
import { alerts, durations, queryRanges } from '../../alerts/alert.ts';
import { metricNames, metricThresholds } from '../../alerts/metrics.ts';
import { contactPoints } from '../../contact-points/contact-point.ts';
import { type ConfigType, contactPointTypes } from '../../contact-points/config.ts';
import { environments } from '../../environments/environment.ts';
import { type Field, type Form, flag, formsOf, id, json, list, needs, number, text } from './form.ts';

/** A config that is accepted for each type; every secret in it is made up. */
const configs = {
  email: { addresses: ['on-call@example.com'] },
  webhook: { url: 'https://hooks.example.com/made-up', httpMethod: 'POST' },
  incident_service: { integrationKey: 'made-up-key', severity: 'critical' },
  chat_webhook_a: { webhookUrl: 'https://chat-a.example.com/made-up', channel: '#on-call' },
  chat_webhook_b: { webhookUrl: 'https://chat-b.example.com/made-up' },
  chat_webhook_c: { webhookUrl: 'https://chat.example.com/made-up' },
} as const satisfies Readonly<Record<ConfigType, FormValues>>;

const operator = { words: ['gt', 'lt'] };
const aggregation = { words: ['mean', 'max', 'min', 'last'] };

/** Contact points and alerts. */
export const alertForms: readonly Form[] = [
  ...formsOf('Contact points', {
    'GET /contact-points': [
      'lists the contact points of an account',
      { fields: [id('accountId', 'accounts')], fill: ({ accountId }) => ({ accountId }) },
    ],
    'POST /contact-point': ['creates a contact point', { fields: newPointFields(), fill: newPoint }],
    'GET /contact-point': [
      'shows a contact point, with its secrets on request',
      { fields: [id('contactPointId', 'contactPoints'), flag('showSecrets')], fill: anyPoint },
    ],
    'PATCH /contact-point': [
      'changes a contact point; secrets that are not sent stay',
      {
        fields: [
          id('contactPointId', 'contactPoints'),
          text('name', { follows: ['contactPointId'] }),
          json('config', { follows: ['contactPointId'] }),
        ],
        fill: (at) => ({ ...anyPoint(at), name: at.row('contactPointId', contactPoints)?.name }),
      },
    ],
    'DELETE /contact-point': [
      'deletes a contact point that no alert uses',
      {
        fields: [id('contactPointId', 'contactPoints')],
        fill: (at) => ({
          contactPointId: at.chosen('contactPointId') ?? at.rows(contactPoints).at(-1)?.contactPointId,
        }),
      },
    ],
  }),
  ...formsOf('Alerts', {
    'GET /app-env/alerts': [
      'lists the alerts of an environment',
      {
        fields: [id('appEnvId', 'environments')],
        fill: (at) => ({ appEnvId: at.row('appEnvId', environments)?.appEnvId }),
      },
    ],
    'POST /app-env/alert': ['creates an alert', { fields: newAlertFields(), fill: newAlert }],
    'GET /alert': ['shows an alert', { fields: [id('alertId', 'alerts')], fill: anyAlert }],
    'PATCH /alert': ['changes an alert', { fields: changedAlertFields(), fill: changedAlert }],
    'DELETE /alert': [
      'deletes an alert',
      {
        fields: [id('alertId', 'alerts')],
        fill: (at) => ({ alertId: at.chosen('alertId') ?? at.rows(alerts).at(-1)?.alertId }),
      },
    ],
    'POST /alert/toggle': [
      'pauses an alert, or lets it go on',
      {
        fields: [id('alertId', 'alerts'), needs(flag('enabled', { follows: ['alertId'] }))],
        fill: (at) => ({ ...anyAlert(at), enabled: at.row('alertId', alerts)?.enabled === false }),
      },
    ],
    'POST /alert/refresh': ['fetches the live state', { fields: [id('alertId', 'alerts')], fill: anyAlert }],
  }),
];

function newPointFields(): readonly Field[] {
  return [
    id('accountId', 'accounts'),
    needs(text('name')),
    needs(text('type', { words: contactPointTypes })),
    needs(json('config', { follows: ['type'] })),
  ];
}

function newPoint(at: FormPlace): FormValues {
  const type = contactPointTypes.find((each) => each === at.chosen('type')) ?? 'email';
  const taken = at.rows(contactPoints).map(({ name }) => name);
  return { accountId: at.accountId, name: freeName('On call', taken), type, config: configs[type] };
}

function anyPoint(at: FormPlace): FormValues {
  return { contactPointId: at.row('contactPointId', contactPoints)?.contactPointId };
}

function newAlertFields(): readonly Field[] {
  return [
    id('appEnvId', 'environments'),
    text('envName'),
    needs(text('name')),
    text('description'),
    needs(text('metric', { words: metricNames })),
    needs(text('operator', operator)),
    needs(number('threshold', { follows: ['metric'] })),
    needs(text('duration', { words: durations })),
    text('aggregation', aggregation),
    text('queryRange', { words: queryRanges }),
    needs(list('contactPointIds', { pick: 'contactPoints' })),
    list('contactPointNames'),
  ];
}

function newAlert(at: FormPlace): FormValues {
  const metric = metricNames.find((each) => each === at.chosen('metric')) ?? 'cpu_percent';
  const taken = at.rows(alerts).map(({ name }) => name);
  const point = at.rows(contactPoints)[0]?.contactPointId;
  return {
    appEnvId: at.row('appEnvId', environments)?.appEnvId,
    name: freeName('busy', taken),
    metric,
    operator: 'gt',
    threshold: metricThresholds[metric],
    duration: '1m',
    contactPointIds: point === undefined ? undefined : [point],
  };
}

function changedAlertFields(): readonly Field[] {
  const byAlert = { follows: ['alertId'] };
  return [
    id('alertId', 'alerts'),
    text('name'),
    text('description'),
    text('metric', { words: metricNames }),
    text('operator', operator),
    number('threshold', byAlert),
    text('duration', { words: durations, ...byAlert }),
    text('aggregation', aggregation),
    text('queryRange', { words: queryRanges }),
    list('contactPointIds', { pick: 'contactPoints' }),
    flag('enabled'),
  ];
}

function anyAlert(at: FormPlace): FormValues {
  return { alertId: at.row('alertId', alerts)?.alertId };
}

function changedAlert(at: FormPlace): FormValues {
  const alert = at.row('alertId', alerts);
  return { alertId: alert?.alertId, threshold: alert?.threshold, duration: alert?.duration };
}
