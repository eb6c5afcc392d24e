package process

import "testing"

func TestParseDeviceIO(t *testing.T) {
	t.Parallel()
	const text = "8:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n254:0 rbytes=10 wbytes=20 rios=30 wios=40\n"
	got, known, err := parseDeviceIO(text, "254:0")
	if want := (DeviceIO{10, 20, 30, 40}); err != nil || !known || got != want {
		t.Errorf("%+v, %t, %v", got, known, err)
	}
	if got, known, err := parseDeviceIO(text, "8:1"); err != nil || known {
		t.Errorf("a device that is not there: %+v, %v", got, err)
	}
	if _, _, err := parseDeviceIO("8:0 rbytes=x\n", "8:0"); err == nil {
		t.Error("what is no number was read")
	}
	if got := (DeviceIO{10, 20, 30, 40}).Since(DeviceIO{1, 30, 3, 4}); got != (DeviceIO{9, 0, 27, 36}) {
		t.Errorf("%+v", got)
	}
}
