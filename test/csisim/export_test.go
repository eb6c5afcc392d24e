package csisim

// AtSteps calls something between the steps of operations, until the result is called.
func AtSteps(d *Driver, do func()) (restore func()) {
	d.step = do
	return func() { d.step = func() {} }
}
