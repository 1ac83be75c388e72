package payloadcodec

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// DataConverter is the DataConverter of client.Options: Temporal's default one,
// with its payloads through codec. Without a codec (nil) it is the default one.
// Every client of a namespace needs the same keys, workers and front ends alike.
func DataConverter(codec converter.PayloadCodec) converter.DataConverter {
	if codec == nil {
		return converter.GetDefaultDataConverter()
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
}

// FailureConverter is the FailureConverter of client.Options that goes with
// [DataConverter]: it has messages and stack traces of failures encoded too,
// which Temporal otherwise stores as they are. Without a codec (nil) it is the
// default one.
func FailureConverter(codec converter.PayloadCodec) converter.FailureConverter {
	if codec == nil {
		return temporal.GetDefaultFailureConverter()
	}
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          DataConverter(codec),
		EncodeCommonAttributes: true,
	})
}
